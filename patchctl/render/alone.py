"""Answers that stand alone on standard output: a digest, one line for a prompt, a lock file."""

from __future__ import annotations

from patchctl.commands import Report
from patchctl.render.escape import visible
from patchctl.verdict import DUE, Action, Need, Verdict


def alone_on_stdout(report: Report) -> bytes:
    """Return what is asked for as bytes, with its line end; nothing where there is no such answer."""
    if report.alone == "oneline":
        return f"{visible(one_line_of(report))}\n".encode()
    if report.locking is not None:
        return report.locking.data
    return b"" if report.digest is None else f"{report.digest}\n".encode()


def one_line_of(report: Report) -> str:
    """Return the environment's builds, and how many entries are applied, due, held and can be retired."""
    target = report.target
    if target is None:
        return "no environment"
    if report.journal is not None:
        # Nothing was judged, and so it is not known what is installed.
        return f"{target.site}: unfinished transaction"
    head = ", ".join(f"{name} {found.build}" for name, found in target.distributions.items()) or target.site
    shown = report.assessments
    counts = (
        (sum(it.verdict is Verdict.APPLIED for it in shown), "applied"),
        (sum(it.action in DUE for it in shown), "due"),
        (sum(it.need is Need.HELD for it in shown), "held"),
        (sum(it.action is Action.RETIRE for it in shown), "can retire"),
        (len(report.errors), "broken"),
    )
    said = [f"{count} {word}" for count, word in counts if count or word == "applied"]
    return f"{head}: {', '.join(said)}" + ("" if any(it.action in DUE for it in shown) else ", nothing due")
