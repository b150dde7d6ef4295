"""The banner for a deployment's README: how many local patches the environment carries, and what becomes of them.

It holds no time of its own making, so that it stays as it is as long as the environment does.
"""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.commands.describe import Described, Standing, may_go, receipt_of
from patchctl.render.escape import markdown, markdown_code
from patchctl.render.words import one_line
from patchctl.verdict import Action, Assessment

_MOST = 240
"""Characters of a reason that a banner has; the rest is in the registry."""


def readme_banner(found: Described) -> str:
    """Return the banner as a block quote in Markdown, with an empty line before and after it."""
    lines = [f"> {line}".rstrip() for line in _lines(found)]
    return "".join(line + "\n" for line in ("", *lines, ""))


def _lines(found: Described) -> Iterator[str]:
    carried = found.of_standing(Standing.IN)
    yield _headline(len(carried))
    yield ""
    builds = ", ".join(f"{markdown(name)} {markdown_code(build)}" for name, build in found.builds.items())
    yield f"{builds or 'No distribution'} in {markdown_code(found.target.site)}"
    if carried:
        yield ""
    for entry in carried:
        yield from _carried(entry, found)
    for title, entries in (
        ("Due, but **not in**", found.of_standing(Standing.DUE)),
        ("Kept as they are by the operator", found.of_standing(Standing.HELD)),
        ("Not patched, only avoided", found.of_standing(Standing.ADVICE)),
    ):
        if entries:
            yield ""
            yield f"{title}:"
            yield ""
        for entry in entries:
            yield f"- {_title(entry)}: {markdown(_remark(entry))}"
    if found.errors:
        yield ""
        yield f"{len(found.errors)} of the registry's entries could not be judged."
    yield ""
    yield f"The whole picture: {markdown_code(_command(found, 'status'))}"


def _headline(count: int) -> str:
    if count == 0:
        return "**This environment carries no local patches.**"
    patches, they = ("1 local patch", "It") if count == 1 else (f"{count} local patches", "They")
    return (
        f"**This environment carries {patches}.** {they} must be applied again, or proven unneeded, at every upgrade."
    )


def _carried(entry: Assessment, found: Described) -> Iterator[str]:
    patch, receipt = entry.case.patch, receipt_of(entry)
    yield f"- {_title(entry)}"
    if patch is not None:
        yield f"  - why: {markdown(_short(patch.why))}"
    if receipt is None:
        yield "  - since: nobody recorded it"
    else:
        builds = ", ".join(f"{markdown(diff.distribution)} {markdown_code(diff.build)}" for diff in receipt.diffs)
        yield f"  - since: {markdown(receipt.applied_at)}, revision {receipt.revision}, on {builds}"
    if patch is not None:
        yield f"  - may go: {markdown(one_line(patch.removal))}"
    if may_go(entry):
        yield f"  - **proven fixed in this build**: {markdown_code(_command(found, 'retire', entry.id))}"
    yield f"  - check: {markdown_code(_command(found, 'check', entry.id))}"


def _title(entry: Assessment) -> str:
    known = entry.case.patch or entry.case.receipt
    title = f"**{markdown(known.title.strip())}** " if known is not None else ""
    return f"{title}({markdown_code(entry.id)})"


def _remark(entry: Assessment) -> str:
    if entry.case.hold is not None:
        return one_line(entry.case.hold.reason)
    if entry.reason == entry.case.reason:
        return entry.action.value  # why it is meant for this build is beside the point
    return one_line(entry.reason if entry.action is Action.NONE else f"{entry.action.value}: {entry.reason}")


def _short(text: str) -> str:
    """Return the first sentence, or as much as a banner has room for."""
    line = one_line(text)
    end = line.find(". ")
    line = line if end < 0 else line[: end + 1]
    return line if len(line) <= _MOST else line[:_MOST].rpartition(" ")[0] + " ..."


def _command(found: Described, *words: str) -> str:
    from patchctl.model.shell import shell_line

    return shell_line(("patchctl", *words, *found.options))
