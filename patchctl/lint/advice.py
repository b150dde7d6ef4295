"""What an entry advises and promises: launch arguments and variables, the log line at each hit, the fixes it waits for.

Advice is shown to operators and put into commands. It must not be able to do more than switch a feature of the
service, so that variables are taken from an allow-list, and nothing may weaken who may use the service.
"""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.launch import characters_problem, dropped_problem, find_option, given_problems, variable_problem
from patchctl.lint.signals import signal_findings
from patchctl.lint.values import Finding, ParsedDiff, error, warning
from patchctl.model import FixRole
from patchctl.patch import Avoid, Kind, Patch


def advice_findings(patch: Patch, parsed: list[ParsedDiff]) -> Iterator[Finding]:
    """Return what is wrong with avoidance, signal and fixes of an entry."""
    yield from _options(patch)
    for number, avoid in enumerate(patch.avoid):
        yield from _variables(avoid, f"avoid[{number}]", patch)
        yield from _arguments(avoid, f"avoid[{number}]")
    if patch.signal is not None:
        yield from signal_findings(patch.signal.log, parsed)
    elif patch.kind is Kind.CONTAINMENT:
        message = "a containment without a signal: nobody can tell how often it is hit"
        hint = "let the diff write one warning a hit, and give its log line in [signal]"
        yield warning("no-signal", message, "kind", hint)
    for number, fix in enumerate(patch.fixes):
        if fix.role is FixRole.FIXES and not fix.evidence:
            message = f"{fix.ref} has no evidence: it is never proven, so that this entry is never retired"
            yield warning("fix-without-evidence", message, f"fix[{number}].ref", "add [[fix.evidence]]")


def _options(patch: Patch) -> Iterator[Finding]:
    """Options that vLLM does not have: a condition on one never holds, and advice with one is never made."""
    if "vllm" not in patch.distributions:
        return
    places = [
        (f"trigger[{number}].{key}.{option}", option)
        for number, trigger in enumerate(patch.triggers)
        for key, options in (("args", trigger.args), ("json", trigger.json))
        for option in options
    ]
    places += [
        (f"avoid[{number}].{key}[{index}]", word)
        for number, avoid in enumerate(patch.avoid)
        for key, words in (("args", avoid.args), ("remove_args", avoid.remove_args))
        for index, word in enumerate(words)
        if word.startswith("-")
    ]
    for place, word in places:
        option = word.partition("=")[0].partition(".")[0]
        if option.startswith("--") and option.split() == [option] and find_option(option.replace("_", "-")) is None:
            yield warning("unknown-option", f"vLLM 0.19.1 to 0.33.0 has no option {option}", place)


def _variables(avoid: Avoid, key: str, patch: Patch) -> Iterator[Finding]:
    for name, value in avoid.env.items():
        place = f"{key}.env.{name}"
        problem = variable_problem(name, value, patch.distributions)
        if problem is not None:
            yield error("unsafe-advice", problem, place, "advise an option of the service, or describe it in `when`")
        yield from _plain(value, place)


def _arguments(avoid: Avoid, key: str) -> Iterator[Finding]:
    unsafe = {found.at: found.text for found in given_problems(avoid.args)}
    for index, word in enumerate(avoid.args):
        if index in unsafe:
            yield error("unsafe-advice", unsafe[index], f"{key}.args[{index}]")
        else:
            yield from _plain(word, f"{key}.args[{index}]")
    for index, word in enumerate(avoid.remove_args):
        place = f"{key}.remove_args[{index}]"
        problem = dropped_problem(word)
        if problem is not None:
            yield error("unsafe-advice", problem, place, 'name the option alone: "--speculative-config"')
        yield from _plain(word, place)


def _plain(text: str, key: str) -> Iterator[Finding]:
    """A word that somebody will paste into a start script must not mean more to a shell than itself."""
    problem = characters_problem(text)
    if problem is not None:
        yield error("shell-characters", problem, key, "advise a value that needs none")
