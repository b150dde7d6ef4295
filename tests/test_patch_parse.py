"""``patch.toml`` into a typed entry, or into every problem with key and line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.errors import Problem, RegistryError
from patchctl.model import BuildRule, EvidenceItem, Fix, FixRole
from patchctl.patch import Avoid, Kind, Patch, Severity, Signal, Variant, parse_entry

DIGEST = "0123456789abcdef" * 4
UPSTREAM = b"--- a/vllm/x.py\n+++ b/vllm/x.py\n@@ -1 +1 @@\n-a\n+b\n"

RICH = f'''\
id = "pad-short-image"
title = "Pad a short image instead of ending the engine"
kind = "containment"
severity = "crash"
revision = 3
default = false
why = """
Two code paths count differently.
[[fix]]
role = "not a key"
"""
how = "Pads with zeros."
removal = "When all fixes are proven."
cve = ["CVE-2026-1234"]
requires = ["base-entry"]
conflicts = ["other-entry"]
replaces = ["old-entry", "older-entry"]

[[variant]]
diff = "0.20.diff"
sha256 = "{DIGEST}"
distribution = "vLLM"
builds = ["0.20.0+das.dtk2604", "dev"]
versions = ">=0.19.1,<0.23"
label = ["das*", "dtk*"]

[[variant]]
diff = "aiter.diff"
sha256 = "{DIGEST.upper()}"
strip = 0
distribution = "amd_aiter"
versions = "==0.1.*"
label = "any"

[[fix]]
ref = "vllm-project/vllm#47312"
role = "fixes"
claimed = ">=0.26.0"
source = "https://github.com/vllm-project/vllm/pull/47312"
distribution = "vllm"

[[fix.evidence]]
file = "vllm/v1/structured_output/__init__.py"
symbol = "StructuredOutputManager.grammar_init"
contains = "grammar.set_exception"

[[fix.evidence]]
any = [
  {{file = "vllm/a.py", symbol = "f", absent = "raise ValueError"}},
  {{file = "vllm/b.py", matches = 'set_exception\\(\\w+\\)'}},
]

[[fix.evidence]]
diff = "upstream.diff"

[[fix]]
ref = "vllm-project/vllm#44401"
role = "rejected"
distribution = "vllm"
note = "Closed unmerged."

[[avoid]]
args = ["--max-num-seqs", "1"]
env = {{VLLM_USE_DEEP_GEMM = "0"}}
remove_args = ["--speculative-config"]
when = "several images a request"
cost = "one request at a time"

[signal]
log = 'placeholder mismatch: (?P<kind>pad|truncate)'
'''

ADVISORY = """\
id = "pad-short-image"
title = "Leave speculative decoding off"
kind = "advisory"
severity = "wrong-output"
why = "It loops."
removal = "Unknown."

[[variant]]
distribution = "vllm"
versions = ">=0.32"

[[avoid]]
remove_args = ["--speculative-config"]
"""


def read_file(name: str) -> bytes:
    if name == "upstream.diff":
        return UPSTREAM
    if name == "empty.diff":
        return b""
    if name == "link.diff":
        raise RegistryError("link", "is a symbolic link")
    raise FileNotFoundError(2, "No such file or directory", name)


def parse(text: str | bytes) -> tuple[Patch | None, tuple[Problem, ...]]:
    data = text.encode() if isinstance(text, str) else text
    return parse_entry(
        data,
        file="patches/vllm/pad-short-image/patch.toml",
        folder="patches/vllm/pad-short-image",
        read_file=read_file,
        registry="patches",
    )


def edited(old: str, new: str, base: str = RICH) -> str:
    assert base.count(old) >= 1, f"{old!r} is not in the example"
    return base.replace(old, new, 1)


def line_of(text: str, needle: str) -> int:
    return text[: text.index(needle)].count("\n") + 1


def test_a_rich_entry_is_read_completely() -> None:
    patch, problems = parse(RICH)
    assert problems == ()
    assert patch == Patch(
        id="pad-short-image",
        title="Pad a short image instead of ending the engine",
        kind=Kind.CONTAINMENT,
        severity=Severity.CRASH,
        revision=3,
        default=False,
        why='Two code paths count differently.\n[[fix]]\nrole = "not a key"\n',
        how="Pads with zeros.",
        removal="When all fixes are proven.",
        requires=("base-entry",),
        conflicts=("other-entry",),
        replaces=("old-entry", "older-entry"),
        variants=(
            Variant(
                distribution="vllm",
                rule=BuildRule(builds=("0.20.0+das.dtk2604", "dev"), versions=">=0.19.1,<0.23", label=("das*", "dtk*")),
                diff="0.20.diff",
                sha256=DIGEST,
            ),
            Variant(
                distribution="amd-aiter",
                rule=BuildRule(versions="==0.1.*", label="any"),
                diff="aiter.diff",
                sha256=DIGEST,
                strip=0,
            ),
        ),
        fixes=(
            Fix(
                ref="vllm-project/vllm#47312",
                role=FixRole.FIXES,
                claimed=">=0.26.0",
                source="https://github.com/vllm-project/vllm/pull/47312",
                distribution="vllm",
                evidence=(
                    EvidenceItem(
                        file="vllm/v1/structured_output/__init__.py",
                        symbol="StructuredOutputManager.grammar_init",
                        contains="grammar.set_exception",
                    ),
                    EvidenceItem(
                        alternatives=(
                            EvidenceItem(file="vllm/a.py", symbol="f", absent="raise ValueError"),
                            EvidenceItem(file="vllm/b.py", matches=r"set_exception\(\w+\)"),
                        )
                    ),
                    EvidenceItem(diff=UPSTREAM, diff_name="upstream.diff"),
                ),
            ),
            Fix(
                ref="vllm-project/vllm#44401",
                role=FixRole.REJECTED,
                distribution="vllm",
                note="Closed unmerged.",
            ),
        ),
        avoid=(
            Avoid(
                args=("--max-num-seqs", "1"),
                env={"VLLM_USE_DEEP_GEMM": "0"},
                remove_args=("--speculative-config",),
                when="several images a request",
                cost="one request at a time",
            ),
        ),
        signal=Signal(log="placeholder mismatch: (?P<kind>pad|truncate)"),
        cve=("CVE-2026-1234",),
        folder="patches/vllm/pad-short-image",
        registry="patches",
    )
    assert patch.distributions == ("vllm", "amd-aiter")


def test_an_advisory_needs_no_diff_and_what_is_left_out_has_its_default() -> None:
    patch, problems = parse(ADVISORY)
    assert problems == ()
    assert patch is not None
    assert (patch.revision, patch.default, patch.how) == (1, True, "")
    assert (patch.requires, patch.conflicts, patch.replaces, patch.fixes, patch.signal) == ((), (), (), (), None)
    assert patch.variants == (Variant(distribution="vllm", rule=BuildRule(versions=">=0.32", label="none")),)


def test_a_fix_belongs_to_the_only_distribution_when_it_names_none() -> None:
    patch, problems = parse(ADVISORY + '[[fix]]\nref = "a#1"\nrole = "fixes"\n')
    assert problems == ()
    assert patch is not None
    assert patch.fixes[0].distribution == "vllm"


def test_windows_line_ends_are_toml_too() -> None:
    patch, problems = parse(RICH.replace("\n", "\r\n"))
    assert problems == ()
    assert patch is not None


def test_every_problem_of_a_file_is_told_in_the_order_of_its_lines() -> None:
    text = edited('severity = "crash"', 'severity = "crush"')
    text = edited("revision = 3", 'revision = "3"', text)
    text = edited('contains = "grammar.set_exception"', 'contians = "grammar.set_exception"', text)
    text = edited("strip = 0", "strip = -1", text)
    patch, problems = parse(text)
    assert patch is None
    assert [(problem.code, problem.key, problem.line) for problem in problems] == [
        ("unknown-value", "severity", 4),
        ("wrong-type", "revision", 5),
        ("out-of-range", "variant[1].strip", line_of(text, "strip = -1")),
        ("evidence-one-test", "fix[0].evidence[0]", line_of(text, "[[fix.evidence]]")),
        ("unknown-key", "fix[0].evidence[0].contians", line_of(text, "contians")),
    ]
    assert {problem.path for problem in problems} == {"patches/vllm/pad-short-image/patch.toml"}
    assert {problem.patch for problem in problems} == {"pad-short-image"}
    assert "`contains`" in (problems[4].hint or "")
    assert "`crash`" in (problems[0].hint or "")
    assert "revision = 1" in (problems[1].hint or "")


# What the loader refuses and a schema can refuse too: (name, text, code, key, what the problem's line begins with).
REFUSED = [
    ("unknown key", edited("default = false", "defalt = false"), "unknown-key", "defalt", "defalt"),
    ("id not a slug", edited('id = "pad', 'id = "Pad'), "not-a-slug", "id", "id"),
    ("id missing", edited('id = "pad-short-image"\n', ""), "missing-key", "id", "title"),
    ("title blank", edited('"Pad a short image instead of ending the engine"', '" "'), "empty-value", "title", "title"),
    ("title of two lines", edited("Pad a short", "Pad a\\nshort"), "not-one-line", "title", "title"),
    ("kind unknown", edited('"containment"', '"hotfix"'), "unknown-value", "kind", "kind"),
    ("kind no string", edited('"containment"', "1"), "wrong-type", "kind", "kind"),
    ("severity unknown", edited('"crash"', '"bad"'), "unknown-value", "severity", "severity"),
    ("revision zero", edited("revision = 3", "revision = 0"), "out-of-range", "revision", "revision"),
    ("revision a boolean", edited("revision = 3", "revision = true"), "wrong-type", "revision", "revision"),
    ("default a number", edited("default = false", "default = 0"), "wrong-type", "default", "default"),
    ("why blank", edited("Pads with zeros.", ""), "empty-value", "how", "how"),
    ("removal missing", edited("removal =", "removl ="), "missing-key", "removal", "id"),
    ("cve no id", edited('"CVE-2026-1234"', '"CVE-26-1"'), "bad-cve", "cve[0]", "cve"),
    ("cve a string", edited('["CVE-2026-1234"]', '"CVE-2026-1234"'), "wrong-type", "cve", "cve"),
    (
        "cve twice",
        edited('["CVE-2026-1234"]', '["CVE-2026-1234", "CVE-2026-1234"]'),
        "duplicate-value",
        "cve[1]",
        "cve",
    ),
    ("requires a string", edited('["base-entry"]', '"base-entry"'), "wrong-type", "requires", "requires"),
    ("requires no slug", edited('["base-entry"]', '["Base"]'), "not-a-slug", "requires[0]", "requires"),
    ("requires a number", edited('["base-entry"]', "[1]"), "wrong-type", "requires[0]", "requires"),
    ("replaces twice", edited('"older-entry"', '"old-entry"'), "duplicate-value", "replaces[1]", "replaces"),
    ("variant a table", edited(RICH[RICH.index("[[variant]]") :], "[variant]\n"), "wrong-type", "variant", "[variant]"),
    ("variant a number", RICH[: RICH.index("[[v")] + "variant = [1]\n", "wrong-type", "variant[0]", "variant"),
    ("no variant", RICH[: RICH.index("[[variant]]")], "missing-key", "variant", "id"),
    ("no diff", edited('diff = "0.20.diff"\n', ""), "missing-key", "variant[0].diff", "[[variant]]"),
    ("no digest", edited(f'sha256 = "{DIGEST}"\n', ""), "missing-key", "variant[0].sha256", "[[variant]]"),
    ("short digest", edited(DIGEST, DIGEST[1:]), "bad-sha256", "variant[0].sha256", "sha256"),
    ("diff elsewhere", edited('"0.20.diff"', '"../0.20.diff"'), "bad-file-name", "variant[0].diff", "diff"),
    ("diff hidden", edited('"0.20.diff"', '".diff"'), "bad-file-name", "variant[0].diff", "diff"),
    ("strip negative", edited("strip = 0", "strip = -1"), "out-of-range", "variant[1].strip", "strip"),
    ("no distribution", edited('distribution = "vLLM"\n', ""), "missing-key", "variant[0].distribution", "[[variant]]"),
    ("bad distribution", edited('"vLLM"', '"vllm/"'), "bad-distribution", "variant[0].distribution", "distribution"),
    (
        "no builds",
        edited('versions = "==0.1.*"\nlabel = "any"\n', ""),
        "missing-key",
        "variant[1].builds",
        "[[variant]]",
    ),
    ("label alone", edited('versions = "==0.1.*"', 'builds = ["1"]'), "bad-label", "variant[1].label", "label"),
    ("label unknown", edited('label = "any"', 'label = "das*"'), "bad-label", "variant[1].label", "label"),
    ("label empty", edited('["das*", "dtk*"]', "[]"), "bad-label", "variant[0].label", "label"),
    ("label glob", edited('"das*"', '"+das?"'), "bad-label", "variant[0].label[0]", "label"),
    ("build a range", edited('"dev"', '"0.20.*"'), "bad-build", "variant[0].builds[1]", "builds"),
    ("versions with label", edited("<0.23", "<0.23+das"), "bad-specifier", "variant[0].versions", "versions"),
    ("fix unknown key", edited("claimed =", "claim ="), "unknown-key", "fix[0].claim", "claim"),
    ("fix without ref", edited('ref = "vllm-project/vllm#47312"\n', ""), "missing-key", "fix[0].ref", "[[fix]]"),
    ("fix without role", edited('role = "fixes"\n', ""), "missing-key", "fix[0].role", "[[fix]]"),
    ("role unknown", edited('"rejected"', '"refused"'), "unknown-value", "fix[1].role", "role"),
    ("source http", edited("https://github", "http://github"), "bad-source", "fix[0].source", "source"),
    ("source user", edited("https://github", "https://a@github"), "bad-source", "fix[0].source", "source"),
    ("claim with label", edited(">=0.26.0", ">=0.26.0+x"), "bad-specifier", "fix[0].claimed", "claimed"),
    (
        "evidence without test",
        edited('contains = "grammar.set_exception"\n', ""),
        "evidence-one-test",
        "fix[0].evidence[0]",
        "[[fix.evidence]]",
    ),
    (
        "evidence with two tests",
        edited("contains =", 'absent = "x"\ncontains ='),
        "evidence-one-test",
        "fix[0].evidence[0]",
        "[[fix.evidence]]",
    ),
    (
        "evidence without file",
        edited('file = "vllm/v1/structured_output/__init__.py"\n', ""),
        "missing-key",
        "fix[0].evidence[0].file",
        "[[fix.evidence]]",
    ),
    ("absolute path", edited('"vllm/v1/', '"/vllm/v1/'), "bad-path", "fix[0].evidence[0].file", "file"),
    ("path upwards", edited('"vllm/v1/', '"vllm/../v1/'), "bad-path", "fix[0].evidence[0].file", "file"),
    ("bad symbol", edited("grammar_init", "grammar init"), "bad-symbol", "fix[0].evidence[0].symbol", "symbol"),
    (
        "blank tokens",
        edited('"grammar.set_exception"', '" "'),
        "empty-value",
        "fix[0].evidence[0].contains",
        "contains",
    ),
    (
        "symbol beside diff",
        edited('diff = "upstream.diff"', 'diff = "upstream.diff"\nsymbol = "f"'),
        "evidence-one-test",
        "fix[0].evidence[2].symbol",
        "symbol",
    ),
    (
        "any beside file",
        edited("any = [", 'file = "a.py"\nany = ['),
        "evidence-any-alone",
        "fix[0].evidence[1].file",
        "file",
    ),
    (
        "any in any",
        edited("matches = 'set_exception\\(\\w+\\)'", "any = []").replace('{file = "vllm/b.py", any', "{any"),
        "evidence-any-nested",
        "fix[0].evidence[1].any[1].any",
        "  {any",
    ),
    (
        "any empty",
        RICH[: RICH.index("any = [")] + "any = []\n" + RICH[RICH.index("[[fix.evidence]]\ndiff") :],
        "empty-value",
        "fix[0].evidence[1].any",
        "any",
    ),
    (
        "alternative without test",
        edited(', absent = "raise ValueError"', ""),
        "evidence-one-test",
        "fix[0].evidence[1].any[0]",
        "  {file",
    ),
    ("env a number", edited('GEMM = "0"', "GEMM = 0"), "wrong-type", "avoid[0].env.VLLM_USE_DEEP_GEMM", "env"),
    ("env name", edited("VLLM_USE_DEEP_GEMM", '"A B"'), "bad-variable", 'avoid[0].env."A B"', "env"),
    ("args a string", edited('["--max-num-seqs", "1"]', '"-x"'), "wrong-type", "avoid[0].args", "args"),
    (
        "avoid without advice",
        RICH[: RICH.index("args =")] + RICH[RICH.index("when =") :],
        "avoid-without-advice",
        "avoid[0]",
        "[[avoid]]",
    ),
    ("signal without log", edited("log = ", "lgo = "), "missing-key", "signal.log", "[signal]"),
    ("signal a list", edited("[signal]", "[[signal]]"), "wrong-type", "signal", "[[signal]]"),
    (
        "advisory with diff",
        edited("[[avoid]]", 'diff = "a.diff"\n[[avoid]]', ADVISORY),
        "advisory-with-diff",
        "variant[0].diff",
        "diff",
    ),
    (
        "advisory with strip",
        edited("[[avoid]]", "strip = 1\n[[avoid]]", ADVISORY),
        "advisory-with-diff",
        "variant[0].strip",
        "strip",
    ),
    ("advisory without advice", ADVISORY[: ADVISORY.index("[[avoid]]")], "missing-key", "avoid", "id"),
]

# What only the loader can refuse.
REFUSED_BY_MEANING = [
    ("id is not the folder's", edited('id = "pad-short-image"', 'id = "other"'), "id-is-not-folder", "id", "id"),
    ("requires itself", edited('["base-entry"]', '["pad-short-image"]'), "names-itself", "requires[0]", "requires"),
    ("requires a conflict", edited('["other-entry"]', '["base-entry"]'), "contradiction", "conflicts[0]", "conflicts"),
    (
        "requires what it replaces",
        edited('["old-entry", ', '["base-entry", '),
        "contradiction",
        "replaces[0]",
        "replaces",
    ),
    ("bad range", edited("<0.23", "<0.23.x"), "bad-specifier", "variant[0].versions", "versions"),
    ("bad claim", edited(">=0.26.0", "since 0.26"), "bad-specifier", "fix[0].claimed", "claimed"),
    ("same build twice", edited('"dev"', '"0.20.0+DAS-dtk2604"'), "bad-build", "variant[0].builds[1]", "builds"),
    (
        "same build in two variants",
        edited('"amd_aiter"', '"VLLM"').replace('"==0.1.*"', '"==0.1.*"\nbuilds = ["1", "0.20.0+DAS_dtk2604"]'),
        "equal-rank",
        "variant[1].builds[1]",
        "builds",
    ),
    (
        "same invalid build in two variants",
        edited('"amd_aiter"', '"vllm"').replace('"==0.1.*"', '"==0.1.*"\nbuilds = ["dev"]'),
        "equal-rank",
        "variant[1].builds[0]",
        "builds",
    ),
    (
        "fix of which distribution",
        edited('distribution = "vllm"\n', ""),
        "missing-key",
        "fix[0].distribution",
        "[[fix]]",
    ),
    ("same fix twice", edited("vllm#44401", "vllm#47312"), "duplicate-value", "fix[1].ref", "ref"),
    (
        "unbalanced regex",
        edited(r"set_exception\(", "set_exception("),
        "bad-pattern",
        "fix[0].evidence[1].any[1].matches",
        "  {file",
    ),
    (
        "doubtful regex",
        edited(r"set_exception\(", "[[a]"),
        "bad-pattern",
        "fix[0].evidence[1].any[1].matches",
        "  {file",
    ),
    (
        "regex that proves nothing",
        edited(r"set_exception\(\w+\)", "(x|)"),
        "bad-pattern",
        "fix[0].evidence[1].any[1].matches",
        "  {file",
    ),
    (
        "endless regex",
        edited(r"set_exception\(\w+\)", "x" * 3000),
        "bad-pattern",
        "fix[0].evidence[1].any[1].matches",
        "  {file",
    ),
    ("signal not a regex", edited("(?P<kind>", "(?P<kind"), "bad-pattern", "signal.log", "log"),
    (
        "missing upstream diff",
        edited('"upstream.diff"', '"gone.diff"'),
        "evidence-diff-unreadable",
        "fix[0].evidence[2].diff",
        "diff",
    ),
    (
        "linked upstream diff",
        edited('"upstream.diff"', '"link.diff"'),
        "evidence-diff-unreadable",
        "fix[0].evidence[2].diff",
        "diff",
    ),
    (
        "empty upstream diff",
        edited('"upstream.diff"', '"empty.diff"'),
        "evidence-diff-unreadable",
        "fix[0].evidence[2].diff",
        "diff",
    ),
    (
        "startup file as evidence",
        edited('"vllm/v1/structured_output/__init__.py"', '"x.pth"'),
        "bad-path",
        "fix[0].evidence[0].file",
        "file",
    ),
]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *(("vLLM_", "vLLM"), ("vllm/", "vllm"), (" vllm", "vllm"), ("vllm-", "vllm"), ("_vllm", "vllm")),
        *(("vllm[audio]", "vllm"), ("vllm==0.20.0", "vllm"), ("vllm >=0.20", "vllm"), ("vllm; x", "vllm")),
        *(("../x", None), ("/opt/vllm", None), ("vllm\u00e9", None), ("pip", None), ("Pip", None), ("...", None)),
    ],
)
def test_what_is_no_distribution_is_shown_as_it_was_meant_or_told_what_would_be_one(
    given: str, meant: str | None
) -> None:
    """An example with the name of another project reads like advice to name that one."""
    _, problems = parse(edited('"vLLM"', f'"{given}"'))
    (problem,) = (it for it in problems if it.code == "bad-distribution")
    if meant is not None:
        assert problem.hint == f'did you mean: distribution = "{meant}"'
    else:
        assert problem.hint == "name the project whose files the diff changes, as the first column of `pip list` has it"
    assert problem.message.endswith(
        " it installs or builds packages, or is patchctl itself"
    ) or problem.message.endswith(" is not the name of a distribution: letters and digits, with . _ - between them")


@pytest.mark.parametrize(
    ("text", "code", "key", "start"),
    [case[1:] for case in REFUSED + REFUSED_BY_MEANING],
    ids=[case[0] for case in REFUSED + REFUSED_BY_MEANING],
)
def test_what_is_wrong_is_told_once_with_code_key_line_and_hint(text: str, code: str, key: str, start: str) -> None:
    patch, problems = parse(text)
    assert patch is None
    told = [problem for problem in problems if problem.key == key]
    assert [problem.code for problem in told] == [code]
    (problem,) = told
    assert problem.line is not None
    assert text.split("\n")[problem.line - 1].startswith(start)
    assert f"`{key}`" in problem.message
    if code not in FOLLOWED_BY_MORE:
        assert problems == (problem,)


# A wrong name or form can leave something else missing; that is told too.
FOLLOWED_BY_MORE = {"unknown-key", "missing-key", "evidence-any-nested"}


def test_the_nearest_known_key_is_named_where_one_is_near() -> None:
    for wrong, near in (("titel", "title"), ("reqires", "requires")):
        problem = next(p for p in parse(f"{wrong} = 1\n{RICH}")[1] if p.key == wrong)
        assert f"did you mean `{near}`?" in (problem.hint or "")


def test_no_key_is_suggested_where_none_is_near() -> None:
    for wrong in ("autor", "xyz"):
        problem = next(p for p in parse(f"{wrong} = 1\n{RICH}")[1] if p.key == wrong)
        assert (problem.hint or "").startswith("Known in the head of the file, before the first table: id, title, ")


def test_a_key_that_slipped_below_a_table_is_sent_home() -> None:
    problem = next(p for p in parse(edited("strip = 0", "replaces = []"))[1] if p.key == "variant[1].replaces")
    assert "`replaces` belongs in the head of the file" in (problem.hint or "")


def test_the_judge_of_evidence_decides_what_reads_as_python() -> None:
    def split_tokens(text: str) -> list[str]:
        if "$" in text:
            raise ValueError("no Python token: '$'")
        return text.partition("#")[0].split()

    def problems(contains: str) -> list[tuple[str, str | None, str]]:
        text = edited("grammar.set_exception", contains)
        answer = parse_entry(
            text.encode(), file="f", folder="pad-short-image", read_file=read_file, split_tokens=split_tokens
        )
        return [(problem.code, problem.key, problem.message) for problem in answer[1]]

    key = "fix[0].evidence[0].contains"
    assert problems("a = (") == []
    assert problems("# a") == [("bad-tokens", key, f"`{key}` holds no Python token")]
    assert problems("a $") == [("bad-tokens", key, f"`{key}` does not read as Python: no Python token: '$'")]


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"id = 1\nid = 2\n", "toml-syntax", 2),
        (b"id = 1\n\ntitle = oops\n", "toml-syntax", 3),
        (b"id = [\n", "toml-syntax", 1),
        (b"id = 1\n[[fix]\n", "toml-syntax", 2),
        (b'id = "\x00"\n', "toml-syntax", 1),
        (b"a = " + b"9" * 5000, "toml-syntax", None),
        (b"\xef\xbb\xbfid = 1\n", "toml-bom", 1),
        (b"id = 1\nwhy = '\xff'\n", "toml-not-utf8", 2),
        (b"#" * (256 * 1024 + 1), "toml-too-large", None),
        (b"id = 1\na = " + b"[" * 100_000, "toml-too-deep", 2),
        (b"id = 1\n" + b"a." * 100_000 + b"a = 1", "toml-too-deep", 2),
    ],
)
def test_what_is_no_toml_is_one_problem_with_its_line(data: bytes, code: str, line: int | None) -> None:
    patch, problems = parse(data)
    assert patch is None
    assert [(problem.code, problem.line, problem.key) for problem in problems] == [(code, line, None)]


def test_a_syntax_error_shows_the_line_it_means() -> None:
    (problem,) = parse('id = "a"\ntitle = Pad a short image\n')[1]
    assert problem.hint == "the line reads: title = Pad a short image"


def test_a_trailing_slash_of_the_folder_does_not_change_the_id() -> None:
    patch, problems = parse_entry(RICH.encode(), file="f", folder="x/pad-short-image/", read_file=read_file)
    assert problems == ()
    assert patch is not None
    assert patch.folder == "x/pad-short-image"


@pytest.mark.parametrize("depth", [20, 390, 5_000])
def test_a_deep_value_is_a_problem_and_no_more(depth: int) -> None:
    check_answer(edited("revision = 3", f"revision = {'[' * depth}{']' * depth}").encode())
    check_answer(edited("revision = 3", f"revision.{'a.' * depth}a = 1").encode())


def test_a_caller_with_little_stack_left_gets_a_problem_too() -> None:
    def called_from(frames: int) -> tuple[Patch | None, tuple[Problem, ...]]:
        return called_from(frames - 1) if frames else parse(f"revision = {'[' * 390}{']' * 390}")

    patch, problems = called_from(400)
    assert patch is None
    assert problems[0].line == 1


PIECES = [
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b'"',
    b"'",
    b"\n",
    b"[[fix]]\n",
    b"any = [",
    b"\xff",
    b"\x00",
    b"1",
    b"true",
    b"{}",
    b"[]",
    b",",
    b"#",
]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(RICH)), st.integers(0, 30), st.sampled_from(PIECES) | st.binary(max_size=5)),
        max_size=4,
    )
)
def test_no_mutation_of_a_valid_entry_makes_the_loader_raise(edits: list[tuple[int, int, bytes]]) -> None:
    data = RICH.encode()
    for place, length, piece in edits:
        data = data[:place] + piece + data[place + length :]
    check_answer(data)


VALUES = [
    '""',
    '" "',
    '"x"',
    "1",
    "-1",
    "true",
    "1.5",
    "[]",
    "[1]",
    '["x"]',
    "[[]]",
    "{}",
    '{x = "y"}',
    "[{}]",
    "1979-05-27",
    '"a\\nb"',
    '"\\u0000"',
]
ASSIGNMENT = re.compile(r"(?m)^(\w+) = (?!\[$|\"\"\").*$")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(VALUES)), min_size=1, max_size=3), st.booleans())
def test_no_value_of_any_type_makes_the_loader_raise(edits: list[tuple[int, str]], advisory: bool) -> None:
    text = ADVISORY if advisory else RICH
    for number, value in edits:
        found = list(ASSIGNMENT.finditer(text))
        chosen = found[number % len(found)]
        text = f"{text[: chosen.start()]}{chosen[1]} = {value}{text[chosen.end() :]}"
    check_answer(text.encode())


def check_answer(data: bytes) -> None:
    patch, problems = parse(data)
    assert (patch is None) == bool(problems)
    lines = data.count(b"\n") + 1
    for problem in problems:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", problem.code)
        assert problem.path == "patches/vllm/pad-short-image/patch.toml"
        assert problem.line is None or 1 <= problem.line <= lines
        assert problem.message
