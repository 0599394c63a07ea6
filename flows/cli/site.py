"""`hallmark site`: a static site of published releases, for the people who use them."""

from pathlib import Path
from typing import Annotated

import typer

from hallmark.flows.screen import say


def site(
    releases: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of published releases, or folders that hold some.",
            metavar="RELEASES…",
            exists=True,
            file_okay=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The site's folder; a site that was made there is replaced."
        ),
    ],
    key: Annotated[
        Path | None,
        typer.Option("--key", help="The agency's public key (PEM), to check who signed."),
    ] = None,
    withdrawn: Annotated[
        list[str] | None,
        typer.Option(
            "--withdrawn",
            help="A release that is withdrawn, with a notice for its users; its files are left "
            "out. Repeatable.",
            metavar="RELEASE=NOTICE",
        ),
    ] = None,
) -> None:
    """Make a catalogue of releases with a page for each, which opens without a server.

    Every release is verified first; one that fails, a rehearsal or a staged one is refused.
    """
    from hallmark.tasks.site.site import make_site

    made = make_site(releases, out, key=key, withdrawn=dict(map(_notice, withdrawn or ())))
    for name in made.releases:
        say(f"{name}: {'shown as withdrawn' if name in made.withdrawn else 'verified'}")
    say(f"The catalogue is {made.page}")


def _notice(text: str) -> tuple[str, str]:
    name, mark, notice = text.partition("=")
    if not mark:
        raise typer.BadParameter(
            f"{text!r} has no =; write RELEASE=NOTICE", param_hint="--withdrawn"
        )
    return name.strip(), notice.strip()
