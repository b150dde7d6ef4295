"""What is wrong with a registry entry, or worth a second look.

``judge`` is the way in; ``values`` has what is judged and what is found. ``texts``, ``sections``, ``headers``,
``locality``, ``proof``, ``collision``, ``variants``, ``advice`` and ``relations`` judge one side each, from
the entry and its diffs alone. ``claims`` compares what an entry claims with what it looked like on a tree, a ``trial``,
and ``outcome`` looks at what its diffs make of the files there;
reading trees is not here. What the loader of registries reports is not judged again.
"""

from patchctl.lint.claims import claim_findings
from patchctl.lint.judge import judge_entry
from patchctl.lint.texts import registry_findings
from patchctl.lint.trial import Made, Trial
from patchctl.lint.values import Entry, Finding, Grade, NamedDiff

__all__ = [
    "Entry",
    "Finding",
    "Grade",
    "Made",
    "NamedDiff",
    "Trial",
    "claim_findings",
    "judge_entry",
    "registry_findings",
]
