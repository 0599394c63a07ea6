"""The command line, `hallmark`: from a spec skeleton to a published, verified release."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hallmark.flows import quiet
from hallmark.flows.cli.alerts import alerts
from hallmark.flows.cli.anchors import RootsOption
from hallmark.flows.cli.approvals import approve, approver_key, override, reject, reopen, waiting
from hallmark.flows.cli.audit_privacy import audit_privacy
from hallmark.flows.cli.backup import backup, restore
from hallmark.flows.cli.calendar import calendar_app
from hallmark.flows.cli.certify import certify
from hallmark.flows.cli.compare import compare
from hallmark.flows.cli.doctor import doctor
from hallmark.flows.cli.evaluate import evaluate
from hallmark.flows.cli.exits import ExitCode, exit_code_of
from hallmark.flows.cli.forget import forget
from hallmark.flows.cli.keys import key_app, time_stamp
from hallmark.flows.cli.ledger import ledger_app
from hallmark.flows.cli.options import (
    JsonOption,
    OutOption,
    ReleaseFolder,
    RunOptions,
    SpecArgument,
    taking,
)
from hallmark.flows.cli.panel import lag, panel
from hallmark.flows.cli.people import people_app
from hallmark.flows.cli.query import query
from hallmark.flows.cli.reports import report
from hallmark.flows.cli.running import run_flow
from hallmark.flows.cli.site import site
from hallmark.flows.cli.smooth import smooth
from hallmark.flows.screen import say, say_json

if TYPE_CHECKING:
    from hallmark.schemas.needs import Need
    from hallmark.tasks.planning.prepared import Prepared

app = typer.Typer(
    name="hallmark",
    help="Publish differentially private synthetic data with a certificate, an audit report and a "
    "signature.\n\nStart with `init`, fill in the spec, then `validate`, `plan` and `release`; "
    "hand `verify` and the report to the reviewer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Exit codes: 0 done, 2 wrong usage or an invalid spec, 3 the data break the spec, 4 not "
    "enough budget, 5 the result failed a check or was rejected, 6 verification failed, 7 waiting "
    "for an approval or an embargo, 130 stopped by Ctrl-C, 143 by SIGTERM, 1 any other error.",
)
app.add_typer(ledger_app, name="ledger")
app.add_typer(calendar_app, name="calendar")
app.add_typer(people_app, name="people")
app.add_typer(key_app, name="key")


@app.command()
def init(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A table (only its header is read), or a data dictionary in JSON or DDI.",
            metavar="HEADER|DICTIONARY",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dictionary",
            help="A data dictionary that says what the columns are: DDI codebook (.xml), sheet "
            "(.xlsx, .csv) or JSON; without a table, its columns are those of the spec.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write it; default: the terminal.")
    ] = None,
) -> None:
    """Write the skeleton of a spec; every bound is left for you to fill in."""
    if out is not None and out.exists():
        raise typer.BadParameter(f"{out} exists; give another file, nothing was written")
    if source is None and dictionary is None:
        raise typer.BadParameter("give a table, a --dictionary, or both; nothing was written")
    from hallmark.schemas.skeleton import skeleton_from_dictionary
    from hallmark.tasks.planning.skeletons import dictionary_of, skeleton

    given = None if dictionary is None else dictionary_of(dictionary, source)
    if source is not None:
        text = skeleton(source, Path() if out is None else out.parent, given)
    else:
        assert given is not None, "one of the two is given"
        text = skeleton_from_dictionary(given)
    if out is None:
        for line in text.splitlines():
            say(line)
    else:
        out.write_text(text, encoding="utf-8")
        say(f"Wrote {out}. Fill in every FILL_IN, then: hallmark validate {out}")


@app.command()
def validate(
    spec: SpecArgument,
    data: Annotated[
        bool, typer.Option("--data", help="Also check the private table; counts stay internal.")
    ] = False,
) -> None:
    """Check a spec; with --data, check the private table against it."""
    quiet.configure()
    from hallmark.tasks.planning.prepare import prepare

    prepared = prepare(spec)
    for warning in prepared.spec.warnings():
        say(f"warning: {warning}", err=True)
    say(f"{spec}: the spec is complete, with {len(prepared.spec.columns)} columns")
    if data:
        from hallmark.flows.cli.terminal import print_findings
        from hallmark.tasks.installation.workspace import Workspace
        from hallmark.tasks.validate import check_table, refuse_failures

        findings = check_table(prepared.spec, prepared.source)
        print_findings(findings, expected_rows=prepared.spec.data.expected_rows)
        page = Workspace.of(prepared.spec.release).offending
        refuse_failures(findings, page)
        if any(finding.failing for finding in findings):
            say(f"Values that were clamped or mapped (confidential, do not publish): {page}")


@app.command()
def plan(
    spec: SpecArgument,
    sweep: Annotated[
        str | None,
        typer.Option(help="Other epsilons to compare, such as 0.1,0.5,1,2.", metavar="EPSILONS"),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option("--for", help="A question, such as 'mean of income by region'."),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            help="With --for: show about the least epsilon at which its 95 % interval is the "
            "answer plus or minus this.",
            min=0.0,
        ),
    ] = None,
    need: Annotated[
        list[str] | None,
        typer.Option(
            help="A need beside those of the spec, such as 'share of employed = true by region "
            "within 1 point'; repeatable.",
        ),
    ] = None,
    solve: Annotated[
        bool, typer.Option("--solve", help="Show the least epsilon that meets all needs.")
    ] = False,
    changes: Annotated[
        bool,
        typer.Option(
            "--changes",
            help="With --solve: show which changes of the spec would meet the needs with less.",
        ),
    ] = False,
    frontier: Annotated[
        Path | None,
        typer.Option(
            "--frontier",
            help="With --solve: draw from which epsilon on each need is met, as SVG.",
            dir_okay=False,
        ),
    ] = None,
    board: Annotated[
        Path | None,
        typer.Option(
            "--board",
            help="Write the page on which a board decides, as HTML: needs, risk, cost, who signs.",
            dir_okay=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a release will cost and how good it will be, without reading a private byte.

    Exits with 4 where the account would not give the release its budget.
    """
    if width is not None and question is None:
        raise typer.BadParameter("it is only read with --for", param_hint="--width")
    for given, name in ((changes, "--changes"), (frontier is not None, "--frontier")):
        if given and not solve:
            raise typer.BadParameter("it is only read with --solve", param_hint=name)
    quiet.configure()
    from hallmark.flows.cli.terminal_plan import (
        print_plan,
        print_savings,
        print_solution,
        print_sweep,
    )
    from hallmark.schemas.question import QuestionError
    from hallmark.tasks.forecast.board import board_page
    from hallmark.tasks.forecast.frontier import frontier_plot
    from hallmark.tasks.forecast.savings import savings
    from hallmark.tasks.forecast.solution import solved
    from hallmark.tasks.forecast.summary import plan_summary
    from hallmark.tasks.forecast.verdict import sweep as compared
    from hallmark.tasks.ledger.accounts import about_balance, balance
    from hallmark.tasks.planning.prepare import prepare

    if question is not None:
        _tell_precision(prepare(spec), question, width, as_json=as_json)
        return
    epsilons = [] if sweep is None else [_epsilon(text) for text in sweep.split(",")]
    added = [_need(text) for text in need or []]
    prepared = prepare(spec)
    needs = (*prepared.spec.needs, *added)
    if solve and not needs:
        raise typer.BadParameter(
            "there are no needs; write some under needs: in the spec, or give --need",
            param_hint="--solve",
        )
    try:
        summary, found = plan_summary(prepared, added), balance(prepared)
    except QuestionError as error:
        raise typer.BadParameter(str(error), param_hint="--need") from error
    summary["warnings"] += about_balance(prepared.spec, found)
    summary["left"] = found.words or None
    others = list(compared(prepared, epsilons))
    solution = solved(prepared, needs) if needs and (solve or board is not None) else None
    if board is not None:
        board.write_text(board_page(prepared, summary, found, solution), encoding="utf-8")
    least = None if solution is None else solution.epsilon
    if frontier is not None and solution is not None:
        picture = frontier_plot(solution, prepared.spec.privacy.epsilon)
        frontier.write_text(picture, encoding="utf-8")
    saved = savings(prepared, needs, least) if changes and least is not None else None
    if as_json:
        say_json(
            summary
            | {
                "sweep": [one.to_json() for one in others],
                "solution": solution and solution.to_json(),
                "savings": saved and saved.to_json(),
            }
        )
    else:
        print_plan(summary)
        if others:
            print_sweep(others)
        if solution is not None and solve:
            print_solution(solution.to_json())
        if saved is not None:
            print_savings(saved)
    if found.refusal:
        raise typer.Exit(ExitCode.BUDGET)


def _need(text: str) -> "Need":
    """A need as the command line states it."""
    from pydantic import ValidationError

    from hallmark.schemas.needs import parse_need
    from hallmark.schemas.question import QuestionError

    try:
        return parse_need(text, stated_by="whoever asked hallmark plan")
    except QuestionError as error:
        raise typer.BadParameter(str(error), param_hint="--need") from error
    except ValidationError as error:
        first = error.errors()[0]
        told = f"{text!r}: {first['loc'][0]} {first['msg'].removeprefix('Value error, ')}"
        raise typer.BadParameter(told, param_hint="--need") from None


def _tell_precision(
    prepared: "Prepared", question: str, width: float | None, *, as_json: bool
) -> None:
    """How precise the answers to a question will be, and the epsilon for a precision."""
    from hallmark.flows.cli.terminal_plan import print_precisions
    from hallmark.schemas.question import QuestionError
    from hallmark.tasks.forecast.questions import epsilon_for, precisions

    try:
        (found,) = (asdict(one) for one in precisions(prepared, [question]))
        epsilon = None if width is None else epsilon_for(prepared, question, width)
    except QuestionError as error:
        raise typer.BadParameter(str(error), param_hint="--for") from error
    if as_json:
        needed = {} if width is None else {"epsilon": epsilon and float(epsilon)}
        say_json(found | needed)
        return
    print_precisions([found])
    if width is not None:
        say(
            f"± {width:g} needs epsilon {float(epsilon):.3g}"
            if epsilon is not None
            else f"± {width:g} cannot be reached with epsilon 100 or less"
        )


@app.command()
@taking(RunOptions)
def release(spec: SpecArgument, out: OutOption = None, *, how: RunOptions) -> None:
    """Run a release and publish it, or stop if somebody must approve it first."""
    run_flow(spec, out, how)


@app.command()
def rehearse(spec: SpecArgument) -> None:
    """Run a release at no cost, on made-up records or the table in the spec's rehearsal section.

    Such a table is first compared with the private table, which is not used otherwise.
    """
    quiet.configure()
    from hallmark.flows.cli.terminal import print_rehearsal
    from hallmark.tasks.gates.rehearsal import rehearse as run
    from hallmark.tasks.planning.prepare import prepare

    print_rehearsal(run(prepare(spec)))


@app.command()
def deploy(
    spec: Annotated[
        list[Path] | None, typer.Option("--spec", help="A spec to offer as a form; repeatable.")
    ] = None,
    calendar: Annotated[
        Path | None, typer.Option("--calendar", help="A calendar of recurring releases.")
    ] = None,
    out: OutOption = None,
) -> None:
    """Offer specs and a calendar on the Prefect server at PREFECT_API_URL.

    What was scheduled at the desk to recur is offered in any case.
    """
    quiet.configure()
    if not os.environ.get("PREFECT_API_URL"):
        raise typer.BadParameter("PREFECT_API_URL is not set; start a server with: make up")
    from hallmark.flows.deployments import deploy_calendar, deploy_forms
    from hallmark.schemas.loading import SpecError
    from hallmark.tasks.installation.errors import SafeError
    from hallmark.tasks.installation.places import out_folder
    from hallmark.tasks.planning.recurring import recurring_calendars

    where = out_folder(out and out.absolute())
    offered = deploy_forms(spec or [], where)
    if calendar is not None:
        offered += deploy_calendar(calendar, where)
    for kept in recurring_calendars():
        try:
            offered += deploy_calendar(kept, where)
        except (SafeError, SpecError) as error:  # it is fixed at the desk, which starts after this
            say(f"Not offered: {error}")
    for name in offered:
        say(f"Offered {name}")
    if not offered:
        say("Nothing to offer: give --spec or --calendar.")


@app.command()
def verify(
    folder: ReleaseFolder,
    key: Annotated[
        Path | None,
        typer.Option("--key", help="The agency's public key (PEM), to check who signed."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", help="The file that a certificate is about, to check that it is this one."
        ),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            help="The agency's register of keys, to check that each was valid when it signed.",
        ),
    ] = None,
    tsa_ca: RootsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release offline: signature, files, claims, data; exit 6 if anything is wrong."""
    from hallmark.flows.cli.terminal import print_verification
    from hallmark.tasks.installation.key_register import key_register
    from hallmark.tasks.verification import KeysAtHand, verify_release

    if tsa_ca is not None and keys is None:
        raise typer.BadParameter("--tsa-ca is for time stamps; name the register with --keys")
    at_hand = None if keys is None else KeysAtHand(key_register(keys), tsa_ca)
    verification = verify_release(folder, key, file, at_hand)
    if as_json:
        say_json(verification.to_json())
    else:
        print_verification(verification)
    if not verification.ok:
        raise typer.Exit(ExitCode.VERIFICATION)


_ELSEWHERE = (
    report,
    certify,
    evaluate,
    query,
    compare,
    site,
    smooth,
    lag,
    panel,
    audit_privacy,
    waiting,
    approve,
    reject,
    reopen,
    override,
    approver_key,
    time_stamp,
    doctor,
    backup,
    restore,
    forget,
    alerts,
)
for command in _ELSEWHERE:
    app.command()(command)


def main() -> None:
    """Run the command line; users' errors end in a message and an exit code."""
    try:
        app()
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        for number, line in enumerate(_lines(error)):
            say(f"{'' if number else 'error: '}{line}", err=True, style=typer.colors.RED)
        sys.exit(code)


def _epsilon(text: str) -> Fraction:
    try:
        if (epsilon := Fraction(text.strip())) > 0:
            return epsilon
    except (ValueError, ZeroDivisionError):
        pass
    raise typer.BadParameter(
        f"{text!r} is not an epsilon; write it like 0.5 or 1", param_hint="--sweep"
    )


def _about_full_disk(error: OSError) -> Iterator[str]:
    """What to do where a disk is full: no other error of the system is so likely in a long run."""
    from hallmark.tasks.installation.disk import FREE_SOME, full_by

    if (full := full_by(error)) is not None:
        yield f"the disk of {full} is full. {FREE_SOME}"


def _lines(error: Exception) -> list[str]:
    if isinstance(error, OSError) and error.strerror:
        return [f"{error.filename or 'the system'}: {error.strerror}", *_about_full_disk(error)]
    if (problems := getattr(error, "problems", None)) is not None:  # of a spec, one line each
        return list(problems)
    return str(error).split("\n")
