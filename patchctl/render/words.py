"""Sentences that both the plain and the terminal shape use."""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.commands import Report
from patchctl.evidence import FixFinding, FixStatus
from patchctl.model import OWNER_EXECUTES, EvidenceItem, FileEdit, FixRole
from patchctl.patch import Avoid, Patch, Trigger
from patchctl.verdict import DUE, Action, Assessment

FIX_WORDS = {
    "absent": "not in this build",
    "proven": "in this build, proven",
    "contradicted": "CLAIMED BUT NOT in this build",
    "moved": "its code moved, nothing proven",
    "claimed": "claimed, no evidence",
    "unknown": "cannot be told",
}
"""What the status of an upstream fix means to an operator."""


_NOT_YET = (
    "do not restart yet: what is set aside protects nothing until patchctl apply brings it back; "
    "restart your processes after the last of these steps"
)


def installing_words(steps: Sequence[str]) -> tuple[str, ...]:
    """Return what the installer's command among the steps does beside what it is there for; nothing without one."""
    if any(" pip install " in f" {step} " and " --no-deps " not in step for step in steps):
        return (
            "the installer brings dependencies too: --no-deps keeps those that are there, such as a vendor's torch and "
            "plugins",
        )
    return ()


def changed_mode(edit: FileEdit) -> int | None:
    """Return the new permission bits of a file that stays and becomes executable, or ceases to be; else None."""
    if edit.mode is None or edit.before_mode is None or (edit.mode ^ edit.before_mode) & OWNER_EXECUTES == 0:
        return None
    return edit.mode


def restart_advice(report: Report) -> tuple[str, ...]:
    """After files changed: the running processes still have the old code, for an upgrade rightly so."""
    if report.change is not None and report.change.set_aside and report.steps:
        return (_NOT_YET, *installing_words(report.steps))
    if report.change is None or report.change.state != "committed" or report.command == "doctor":
        return ()
    if not report.change.edits:
        return ()
    tops = sorted({edit.path.partition("/")[0] for edit in report.change.edits})
    names = ", ".join("vLLM" if top == "vllm" else top for top in tops)
    return (f"restart your {names} processes for it to take effect: a running process keeps the old code",)


def summary(report: Report) -> tuple[str, ...]:
    """The last line of ``status`` and ``check``: how much is due, and the command to run."""
    if report.command not in {"status", "check"} or report.journal is not None:
        return ()
    if report.review is not None:
        from patchctl.render.lock import lock_summary

        return lock_summary(report.review)
    due = [found for found in report.assessments if found.action in DUE]
    held = [found for found in report.assessments if found.case.hold is not None]
    retire = [found for found in report.assessments if found.action is Action.RETIRE]
    lines = []
    if due:
        ready = sum(found.action is Action.APPLY for found in due)
        rest = len(due) - ready
        parts = [f"{ready} due: run patchctl apply"] if ready else []
        others = ", ".join(f"{found.id} ({found.action.value})" for found in due if found.action is not Action.APPLY)
        parts += [f"{rest} need{'s' if rest == 1 else ''} you: {others}"] if rest else []
        lines.append("; ".join(parts))
    elif any(problem.code != "digest-differs" for problem in report.errors):
        lines.append("nothing is due among the entries that could be judged")
    else:
        lines.append("nothing is due")
    if held:
        lines.append(f"{len(held)} held: {', '.join(found.id for found in held)}")
    if retire:
        lines.append(f"{len(retire)} proven fixed upstream: run patchctl retire")
    return tuple(lines)


def contradictions(found: Assessment) -> tuple[str, ...]:
    """Claims that the bytes contradict: somebody will believe the version number, so say it loudly."""
    return tuple(
        f"{finding.fix.ref} is claimed for this version, but these files do not contain it"
        for finding in found.case.fixes
        if finding.status is FixStatus.CONTRADICTED and finding.fix.role is FixRole.FIXES
    )


def fix_groups(fixes: tuple[FixFinding, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Group the fixes that count by their status: ``(status, refs)``."""
    groups: dict[str, list[str]] = {}
    for finding in fixes:
        if finding.fix.role is FixRole.FIXES:
            groups.setdefault(finding.status.value, []).append(finding.fix.ref)
    return tuple((status, tuple(refs)) for status, refs in groups.items())


def avoidance(avoid: Avoid) -> str:
    """The variables and flags to launch with, quoted for a shell, and those to leave out; empty without any."""
    from patchctl.model.shell import shell_word  # late: only where an avoidance is shown

    words = [*(f"{key}={shell_word(value)}" for key, value in avoid.env.items()), *map(shell_word, avoid.args)]
    return " ".join(words + [f"(without {' '.join(avoid.remove_args)})"] * bool(avoid.remove_args))


def unsafe(avoid: Avoid, patch: Patch) -> str | None:
    """Why an avoidance must not be put into a command, as a clause; None: it may."""
    from patchctl.launch import advice_problem

    return advice_problem(avoid.args, avoid.env, avoid.remove_args, patch.distributions)


def trigger_text(trigger: Trigger) -> str:
    """One row of conditions under which a bug can trigger, and what then happens or is not known."""
    words = [f"model {' or '.join(trigger.model)}"] if trigger.model else []
    for name, wanted in trigger.args.items():
        words.append(f"{name if wanted else f'no {name}'}" if isinstance(wanted, bool) else f"{name} {_either(wanted)}")
    words += [f"{name}.{key} {_either(it)}" for name, keys in trigger.json.items() for key, it in keys.items()]
    words += [f"{name}={_either(globs)}" for name, globs in trigger.env.items()]
    words += [f"hardware {' or '.join(trigger.hardware)}"] if trigger.hardware else []
    words += [f"versions {trigger.rule.versions}"] if trigger.rule is not None else []
    told = one_line(trigger.note or trigger.doubt)
    return "; ".join(words) + (f" ({told})" if told else "")


def _either(globs: Sequence[str]) -> str:
    return " or ".join(glob or "(not given)" for glob in globs)


def one_line(text: str) -> str:
    """Return ``text`` with every run of white space as one blank: a terminal wraps it where it must."""
    return " ".join(text.split())


def evidence_text(item: EvidenceItem) -> str:
    """One piece of evidence in words."""
    if item.alternatives:
        return " or ".join(evidence_text(other) for other in item.alternatives)
    where = f"{item.symbol} in {item.file}" if item.symbol else item.file
    if item.contains is not None:
        return f"{where} contains {one_line(item.contains)}"
    if item.absent is not None:
        return f"{where} does not contain {one_line(item.absent)}"
    if item.matches is not None:
        return f"{where} matches {item.matches}"
    return "an upstream diff is in"
