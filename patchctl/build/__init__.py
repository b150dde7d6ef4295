"""Build strings: what a version says of a vendor build, and which registry rules it fits.

The only room that knows ``packaging``. ``versions`` is the one file that imports it, ``labels`` has the globs,
``identity`` takes a build string apart, ``comparing`` says how one follows another, ``matching`` judges it against
rules, ``checking`` judges the rules, ``overlap`` finds builds that rules admit.

Not here: where a build string comes from (``target``), and what a patch does with the answer (``verdict``).
"""

from patchctl.build.checking import rule_problems, specifier_problem
from patchctl.build.comparing import BuildChange, change_of
from patchctl.build.identity import BuildId, is_release, parse_build
from patchctl.build.matching import MatchOutcome, MatchRule, choose, claims, match_rule
from patchctl.build.overlap import admitted_version, tied_build

__all__ = [
    "BuildChange",
    "BuildId",
    "MatchOutcome",
    "MatchRule",
    "admitted_version",
    "change_of",
    "choose",
    "claims",
    "is_release",
    "match_rule",
    "parse_build",
    "rule_problems",
    "specifier_problem",
    "tied_build",
]
