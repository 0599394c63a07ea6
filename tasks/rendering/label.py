"""The privacy label: one card that says what a release promises, as a picture that stands alone.

The numbers are those of the audit report; the card has no room for what they do not cover, and says
where that is.
"""

from html import escape
from textwrap import wrap

from hallmark.schemas.documents.audit_report import AuditRecord
from hallmark.tasks.rendering.attacks import HOUSEHOLD, attacks_on
from hallmark.tasks.rendering.drawing import titled
from hallmark.tasks.rendering.wording import exact, number, percent

_WIDTH, _LEFT, _RIGHT, _LINE = 480, 20, 460, 19
_LETTERS = 62  # of a line of the text
_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1c1f24}.big{font-size:17px;font-weight:700}"
    ".head{font-weight:700}.dim{fill:#54595f;font-size:12.5px}"
)


class _Card:
    """Lines from the top down."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = 16.0

    def text(self, said: str, style: str = "", letters: int = _LETTERS) -> None:
        for line in wrap(said, letters):
            self.y += _LINE
            self.parts.append(
                f'<text x="{_LEFT}" y="{self.y:g}" class="{style}">{escape(line)}</text>'
            )

    def rule(self) -> None:
        self.y += 11
        self.parts.append(f'<rect x="{_LEFT}" y="{self.y:g}" width="440" height="1.5"/>')
        self.y += 4

    def bar(self, said: str, share: float) -> None:
        """How often an attack is right, from never to always."""
        told = percent(share, up=True)
        self.y += _LINE + 3
        full, width = _RIGHT - 250, (_RIGHT - 250) * share
        self.parts.append(
            f'<text x="{_LEFT}" y="{self.y:g}">{escape(said)}</text>'
            f'<rect x="190" y="{self.y - 11:g}" width="{full}" height="12" fill="#e3e7ec"/>'
            f'<rect x="190" y="{self.y - 11:g}" width="{width:.1f}" height="12" fill="#14508c">'
            f"{titled(told)}</rect>"
            f'<text x="{_RIGHT}" y="{self.y:g}" text-anchor="end">{told}</text>'
        )


def privacy_label(record: AuditRecord) -> str:
    """An SVG document."""
    guarantee, identity, account = record.guarantee, record.identity, record.account
    claim, attacks, card = guarantee.claim, attacks_on(guarantee), _Card()
    best = attacks.best_guess()
    card.text("Privacy label", "big")
    if record.is_rehearsal:
        card.text("REHEARSAL: this is not a release", "head")
    card.text(identity.title, "head")
    card.text(f"{identity.release_id}, {identity.created:%Y-%m-%d}", "dim", 70)
    card.rule()
    card.text(f"Protects {claim.unit_in_words}, whatever anybody else knows.")
    slack = "" if claim.is_pure else f", delta {exact(claim.delta)}"
    card.text(f"Epsilon {exact(claim.epsilon)}{slack}; neighbours: {claim.neighbours}", "dim", 70)
    card.rule()
    card.text("Telling two tables apart that differ in so much, at best:", "head")
    card.bar("by a coin", 0.5)
    card.bar("one unit", best)
    card.bar(f"{HOUSEHOLD} units", attacks.best_guess(HOUSEHOLD))
    card.text(
        "A guess about somebody that is right in 10 of 1,000 cases without their data is right in "
        f"at most {number(1000 * attacks.power(0.01), 3, up=True)}."
    )
    card.rule()
    spent = account.previously_spent.epsilon + account.this_release.epsilon
    card.text(
        f"About the same people, released so far: epsilon "
        f"{exact(spent if account.composed is None else account.composed)} of "
        f"{exact(account.cap.epsilon)} authorised."
    )
    facts = len(guarantee.unprotected)
    card.text(
        f"Not covered: {facts or 'no'} exact fact{'' if facts == 1 else 's'}, listed in the audit "
        "report; what is true of everybody; data that others hold."
    )
    card.rule()
    card.text("Bounds that are proved; no attack was run. Check: hallmark verify", "dim", 70)
    height = card.y + 20
    description = (
        f"The best attack on one unit is right in at most {percent(best, up=True)} of cases; a "
        "coin in 50 %."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
        f'width="{_WIDTH}" height="{height:g}" role="img" aria-labelledby="label-t label-d">'
        f'<title id="label-t">Privacy label of {escape(identity.release_id)}</title>'
        f'<desc id="label-d">{escape(description)}</desc><style>{_STYLE}</style>'
        f'<rect x="1" y="1" width="{_WIDTH - 2}" height="{height - 2:g}" fill="#fff" '
        f'stroke="#1c1f24" stroke-width="2"/>{"".join(card.parts)}</svg>\n'
    )
