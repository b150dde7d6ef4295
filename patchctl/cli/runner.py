"""The one error boundary, the exit codes, and who prints what where."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import typer

from patchctl.cli.again import as_user
from patchctl.cli.options import Common
from patchctl.cli.settings import Settings, clock, resolve
from patchctl.commands import Clock, Place, Report
from patchctl.commands.given import given_options
from patchctl.errors import Outcome, PatchctlError, Problem, UntrustedError

EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.OK: 0,
    Outcome.ATTENTION: 1,
    Outcome.USAGE: 2,
    Outcome.CANNOT_ANSWER: 3,
    Outcome.UNFINISHED: 4,
    Outcome.BUSY: 5,
    Outcome.BUG: 70,
    Outcome.INTERRUPTED: 130,
    Outcome.TERMINATED: 143,
}
_WIDEST = 1000
_READERS = frozenset(
    {"status", "check", "list", "show", "verify", "doctor", "history", "ps", "lint", "preflight", "hits", "advise"}
)


def run(
    verb: str,
    common: Common,
    act: Callable[[Place, Clock], Report],
    *,
    form: Callable[[Report], str] | None = None,
) -> NoReturn:
    """Call one command and end the process with its exit code.

    Args:
        verb: the command's name, for a report that an error cut short.
        common: the common options.
        act: the command, given place and clock.
        form: lays the answer out for a program; None: as records, or for a terminal.
    """
    settings = None
    try:
        settings = resolve(common, os.environ)
        report = act(settings.place, clock(os.environ, time.time()))
    except PatchctlError as error:
        problem = _with_command(error, common, settings)
        report = Report(command=verb, outcome=error.outcome, errors=(*error.others, problem))
    except KeyboardInterrupt:
        problem = Problem(code="interrupted", message="interrupted; nothing was left half done")
        report = Report(command=verb, outcome=Outcome.INTERRUPTED, errors=(problem,))
    except Exception as error:
        report = _bug(verb, error, verbose=common.verbose)
    if settings is not None:
        report = report._replace(given=given_options(settings.place))
    code = EXIT_CODES[report.outcome]
    try:
        code = _say(report, common, settings, form)
    except OSError as error:
        # Nobody reads (`patchctl status | head -1`), or the disk is full: what was done is done, the exit code stands.
        if not isinstance(error, BrokenPipeError) and sys.stderr is not None:
            sys.stderr.write(f"error: the answer cannot be written: {error.strerror}\n")
        _drop_stdout()
    raise typer.Exit(code)


def _say(report: Report, common: Common, settings: Settings | None, form: Callable[[Report], str] | None) -> int:
    """Print the answer and return the exit code; one that cannot be laid out is a bug, and told as one.

    Python's own traceback would show the text that nobody thought of as it is, whatever a terminal makes of it.
    """
    code = EXIT_CODES[report.outcome]
    try:
        _emit(report, code, common, settings, form)
    except OSError:
        raise
    except Exception as error:
        bug = _bug(report.command, error, verbose=common.verbose)
        code = EXIT_CODES[bug.outcome]
        _emit(bug, code, common, None, None)
    return code


def _with_command(error: PatchctlError, common: Common, settings: Settings | None) -> Problem:
    """Return the problem; where another user could run the same command, with the command that he would say."""
    if not isinstance(error, UntrustedError) or error.login is None or settings is None:
        return error.problem
    from patchctl.model.shell import shell_line

    words = as_user(error.login, common.words, settings.place, error.site)
    return error.problem._replace(hint=shell_line(words))


def _drop_stdout() -> None:
    """Whatever is still buffered must not fail once more when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(verb: str, error: Exception, *, verbose: bool) -> Report:
    import traceback

    detail = traceback.format_exc() if verbose else f"{type(error).__name__}: {error}"
    problem = Problem(
        code="bug",
        message=f"this is a bug in patchctl, please report it: {detail}",
        hint=None if verbose else "run it again with -v for the traceback",
    )
    return Report(command=verb, outcome=Outcome.BUG, errors=(problem,))


def _emit(
    report: Report, code: int, common: Common, settings: Settings | None, form: Callable[[Report], str] | None
) -> None:
    if settings is not None and sys.stderr is not None:
        _say_sources(settings.sources if common.verbose else () if common.quiet else settings.by_variables)
    if common.json:
        from patchctl.render.document import as_json

        _write(as_json(report, code))
        return
    no_color = common.no_color or (settings is not None and settings.no_color)
    if not common.quiet and not _failed(report):
        if form is not None:
            _write(form(report))
        else:
            _answer(report, colour=not no_color)
    _complain(report, common, colour=not no_color)


def _failed(report: Report) -> bool:
    """Nothing came of it: the answer is the error, and stdout stays empty."""
    if report.outcome is Outcome.OK or report.change is not None:
        return False
    answers = (report.target, report.listing, report.lint, report.hits)
    return report.command not in _READERS or all(answer is None for answer in answers)


def _answer(report: Report, *, colour: bool) -> None:
    if report.alone:
        from patchctl.render.alone import alone_on_stdout

        _write_bytes(alone_on_stdout(report))
        return
    if report.lint is not None and report.lint.page and report.lint.proof is not None:
        from patchctl.render.matrix import matrix_page

        _write(matrix_page(report.lint.proof))
        return
    if report.publication is not None and report.publication.path is None:
        _write(report.publication.text or "")
        return
    planned = report.change.edits if report.change is not None and report.change.state == "planned" else ()
    if sys.stdout is not None and sys.stdout.isatty():
        from patchctl.render.terminal import as_terminal, diff_for_terminal

        _write(as_terminal(report, colour=colour, width=_columns()))
        if planned:
            _write(diff_for_terminal(planned, colour=colour))
        return
    from patchctl.render.plain import as_plain

    _write(as_plain(report))
    if planned:
        from patchctl.render.diffs import edits_as_diff

        _write_bytes(edits_as_diff(planned))


def _write_bytes(data: bytes) -> None:
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


def _write(text: str) -> None:
    if sys.stdout is None:  # closed by the caller: `patchctl check >&-` asks for the exit code alone
        return
    # A C locale must not turn a foreign character into a crash.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stdout.write(text)
    sys.stdout.flush()


def _complain(report: Report, common: Common, *, colour: bool) -> None:
    if sys.stderr is None or (not report.errors and (common.quiet or not report.warnings)):
        return
    from patchctl.render.problems import problem_text

    terminal = sys.stderr.isatty()
    width = _columns() if terminal else None
    lines = []
    if _failed(report) and report.target is not None:
        from patchctl.render.problems import environment_text

        lines.append(environment_text(report.target))
    shown = [("warning", problem) for problem in report.warnings if not common.quiet]
    shown += [("error", problem) for problem in report.errors]
    lines += [
        problem_text(problem, label=label, colour=colour and terminal, width=width, given=report.given)
        for label, problem in shown
    ]
    # A hint ends its problem; a blank line keeps the next one from being read as part of it.
    spaced = [line + "\n" if "\n\nhint:" in line and line is not lines[-1] else line for line in lines]
    sys.stderr.write("".join(line + "\n" for line in spaced))


def _columns() -> int:
    """The width of the terminal in columns; COLUMNS may say anything, and lines are padded to it."""
    import shutil

    return min(shutil.get_terminal_size().columns, _WIDEST)


def _say_sources(sources: Sequence[tuple[str, str, str]]) -> None:
    from patchctl.render.escape import visible

    for name, value, source in sources:
        sys.stderr.write(f"setting: {name} = {visible(value)} ({source})\n")
