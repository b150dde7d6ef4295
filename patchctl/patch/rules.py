"""For which builds a table of an entry is: ``builds``, ``versions`` and ``label``."""

from __future__ import annotations

from patchctl.build import rule_problems
from patchctl.model import BuildRule
from patchctl.patch.table import Table

_MAX_GLOBS = 64
_RULE_CODES = {"builds": "bad-build", "versions": "bad-specifier", "label": "bad-label"}


def read_rule(table: Table, *, label: str = "none") -> BuildRule:
    """Return the builds that a table is for.

    Args:
        table: a variant, or an advice.
        label: what counts where the table says nothing about labels.
    """
    before = table.document.count
    if "label" in table and "versions" not in table:
        table.report("bad-label", "label", "has a meaning only beside `versions`")
    rule = BuildRule(
        builds=table.texts("builds") if "builds" in table.shape.examples else (),
        versions=table.text("versions", one_line=True) or None,
        label=_read_label(table) if "label" in table else label,
    )
    # A rule that was read badly would be judged for what it does not say.
    for key, problem in rule_problems(rule) if table.document.count == before else ():
        name, _, index = key.removesuffix("]").partition("[")
        if index:
            table.report_item(_RULE_CODES[name], name, int(index), f": {problem}")
        else:
            table.report(_RULE_CODES[name] if name in table else "missing-key", name, f": {problem}")
    return rule


def _read_label(table: Table) -> str | tuple[str, ...]:
    if isinstance(table.raw("label"), list):
        globs = table.texts("label")
        if len(globs) > _MAX_GLOBS:
            table.report("too-many", "label", f"has {len(globs)} globs; at most {_MAX_GLOBS} are read")
        return globs[:_MAX_GLOBS]
    text = table.text("label")
    if text.strip() and text not in {"any", "none"}:
        hint = f'for a glob write a list: label = ["{text}"]'
        table.report("bad-label", "label", "must be `any`, `none` or a list of globs", hint)
    return text
