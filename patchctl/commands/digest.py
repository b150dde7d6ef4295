"""The digest of an environment, from what was gathered: ``status --digest`` and ``check --expect``."""

from __future__ import annotations

from patchctl.commands.judging import Scene
from patchctl.commands.report import Report
from patchctl.errors import Outcome, PatchctlError, Problem, TargetError, UsageError
from patchctl.pins import digest_problem, environment_digest, patched_paths


def refuse_other(expected: str) -> None:
    """Raise UsageError when ``expected`` is no digest that could ever be equal to one of ours."""
    problem = digest_problem(expected)
    if problem is not None:
        hint = "patchctl status --digest prints one"
        raise UsageError("bad-digest", f"{expected} {problem}", hint=hint)


def digest_of(scene: Scene, distribution: str | None) -> str:
    """Return the digest of a scene without an open transaction.

    Raises:
        TargetError: a patched file cannot be read, or a distribution is in a state that nothing can be said about.
    """
    for name, problem in sorted(scene.target.unusable.items()):
        if distribution in {None, name}:
            raise TargetError(problem.code, problem.message, hint=problem.hint, path=problem.path)
    snapshot = scene.site.snapshot
    for path in patched_paths(scene.site.ledger, distribution):
        if path in snapshot.problems:
            message = f"{path} {snapshot.problems[path]}: its bytes cannot be told, and neither can the digest"
            raise TargetError("unreadable-files", message, hint="patchctl doctor", path=path)
    return environment_digest(scene.target, scene.site.ledger, snapshot, distribution=distribution)


def expecting(report: Report, scene: Scene, expected: str, distribution: str | None) -> Report:
    """Return the report of a check with one reason more to fail: the digest is another one."""
    try:
        digest = digest_of(scene, distribution)
    except PatchctlError as error:
        outcome = report.outcome.worse(error.outcome)
        return report._replace(outcome=outcome, errors=(*report.errors, error.problem))
    if digest == expected:
        return report._replace(digest=digest, notes=(*report.notes, f"the digest is the expected one: {digest}"))
    message = f"the digest of this environment is {digest}, expected was {expected}"
    hint = "compare patchctl status, patchctl history and patchctl verify with those of the other environment"
    return report._replace(
        digest=digest,
        outcome=report.outcome.worse(Outcome.ATTENTION),
        errors=(*report.errors, Problem(code="digest-differs", message=message, hint=hint)),
    )
