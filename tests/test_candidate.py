"""Candidates: a wheel, its extracted directory and the environment that it makes are one tree to whoever judges it."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from patchctl.errors import TargetError
from patchctl.target import CandidateKind, opened_candidate
from tests.environments import make_environment
from tests.small_wheels import INFO, Member, make_wheel

ONE = "vllm/one.py"
DATA = "vllm-0.25.1.data"
MEMBERS: list[Member] = [
    (ONE, b"class Runner:\n    def gather(self):\n        pass\n"),
    ("vllm/_version.py", b"__version__ = '0.25.1'\n"),
    ("vllm/sub/two.py", b"async def gather():\n    pass\n"),
    ("vllm/tool.py", b"tool = 1\n", stat.S_IFREG | 0o755),
    ("vllm/fast.py", b"fast = 1\n"),
    ("vllm/fast.cpython-311-x86_64-linux-gnu.so", b"\x7fELF"),
    ("vllm/frozen.pyc", b"code"),
    ("single.py", b"def other():\n    pass\n"),
]
PATHS = [
    ONE,
    "vllm/tool.py",
    "vllm/fast.py",
    "vllm/frozen.py",
    "vllm/gone.py",
    "vllm/one.py/x.py",
    "vllm/sub",
    "../x.py",
]


def extracted(wheel: Path, into: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    (into / "vllm/tool.py").chmod(0o755)
    return into


def seen(path: Path) -> dict[str, object]:
    with opened_candidate(str(path), names={"vLLM"}, environ={}) as found:
        (distribution,) = found.tree.target.distributions.values()
        snapshot = found.tree.read(PATHS)
        return {
            "build": distribution.build,
            "fingerprint": distribution.fingerprint,
            "source": distribution.source_build,
            "files": {at: file and (file.data, file.sha256, file.meta.mode) for at, file in snapshot.files.items()},
            "problems": snapshot.problems,
            "names": found.tree.search(distribution, ["gather", "other", "no"], ["two.py", "one.py"]),
            "near": found.tree.search(distribution, ["gather"], [], directories={"vllm/sub"}),
            "tops": found.tree.tops(distribution),
        }


@pytest.mark.slow
def test_wheel_directory_and_environment_read_alike(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, MEMBERS)
    directory = extracted(wheel, tmp_path / "extracted")
    make_environment(tmp_path / "env", wheel)
    in_wheel = seen(wheel)
    assert in_wheel["names"] == {
        "gather": ("vllm/one.py", "vllm/sub/two.py"),
        "other": ("single.py",),
        "no": (),
        "two.py": ("vllm/sub/two.py",),
        "one.py": ("vllm/one.py",),
    }
    assert in_wheel["near"] == {"gather": ("vllm/sub/two.py",)}
    assert in_wheel["tops"] == ("single.py", "vllm")
    assert in_wheel["source"] == "0.25.1"
    assert seen(directory) == in_wheel
    assert seen(tmp_path / "env") == in_wheel
    assert seen(tmp_path / "env/bin/python") == in_wheel


@pytest.mark.slow
def test_files_of_the_data_directory_stand_where_an_installer_puts_them(tmp_path: Path) -> None:
    members = [
        *MEMBERS,
        (f"{DATA}/purelib/vllm/pure.py", b"def pure():\n    pass\n"),
        (f"{DATA}/scripts/t", b"#!python\n"),
    ]
    wheel = make_wheel(tmp_path, members)
    make_environment(tmp_path / "env", wheel)
    assert seen(wheel) == seen(tmp_path / "env")
    with pytest.raises(TargetError) as caught:
        seen(extracted(wheel, tmp_path / "extracted"))
    assert caught.value.problem.code == "unsafe-wheel"
    assert f"what lies in {DATA} would be installed elsewhere" in caught.value.problem.message


@pytest.mark.parametrize(("name", "kind"), [("", CandidateKind.WHEEL), ("extracted", CandidateKind.DIRECTORY)])
def test_the_kind_is_told(tmp_path: Path, name: str, kind: CandidateKind) -> None:
    wheel = make_wheel(tmp_path, MEMBERS)
    path = extracted(wheel, tmp_path / name) if name else wheel
    with opened_candidate(str(path), names={"vllm"}, environ={}) as found:
        assert (found.kind, found.path, found.tree.target.site) == (kind, str(path), str(path))


def refusal(path: str, names: Sequence[str] = ("vllm",)) -> tuple[str, str, str]:
    with pytest.raises(TargetError) as caught, opened_candidate(path, names=names, environ={}):
        pass
    problem = caught.value.problem
    return problem.code, problem.message, problem.hint or ""


def test_what_is_no_candidate_is_told_what_would_be_one(tmp_path: Path) -> None:
    code, message, hint = refusal(str(tmp_path / "gone.whl"))
    assert (code, message) == ("no-candidate", f"{tmp_path}/gone.whl is not there")
    assert "name a wheel file" in hint
    assert "pip download --no-deps 'vllm==0.26.0'" in refusal("vllm==0.26.0")[2]
    archive = tmp_path / "vllm-0.25.1.tar.gz"
    archive.write_bytes(b"")
    assert refusal(str(archive))[0] == "no-candidate"
    (tmp_path / "empty").mkdir()
    assert refusal(str(tmp_path / "empty"))[0] == "no-environment"
    (tmp_path / "vllm-0.25.1.WHL").write_bytes(b"")
    make_environment(tmp_path / "without")
    # the options that name an environment are about the one that would be upgraded
    for path in ("empty", "vllm-0.25.1.WHL", "without"):
        assert "name a wheel file" in refusal(str(tmp_path / path))[2]
    (tmp_path / "vllm-0.25.1-py3-none-any.whl").write_bytes(b"no archive")
    assert refusal(str(tmp_path / "vllm-0.25.1-py3-none-any.whl"))[0] == "unreadable-wheel"


def test_a_wheel_of_another_distribution_is_refused(tmp_path: Path) -> None:
    code, message, _ = refusal(str(make_wheel(tmp_path, MEMBERS)), ["torch"])
    assert code == "no-distribution"
    assert message.endswith("is vllm, which is not what was asked for: torch")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"Version: 0.25.1", b"Version: 0.26.0", "its METADATA says version 0.26.0"),
        (b"Name: vllm", b"Name: torch", "its METADATA names torch"),
        (b"Name: vllm", b"Nome: vllm", "its METADATA gives no Name"),
        (b"Wheel-Version: 1.0", b"Wheel-Version: 2.0", "its format is 2.0, and installers know 1"),
        (b"Wheel-Version: 1.0", b"Wheel: 1.0", "its WHEEL gives no Wheel-Version"),
    ],
)
def test_a_wheel_that_installers_refuse_is_refused(tmp_path: Path, old: bytes, new: bytes, why: str) -> None:
    whole = make_wheel(tmp_path, MEMBERS)
    (tmp_path / "other").mkdir()
    changed = tmp_path / "other" / whole.name
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(changed, "w") as out:
        for entry in source.infolist():
            out.writestr(entry, source.read(entry).replace(old, new))
    code, message, _ = refusal(str(changed))
    assert (code, why in message) == ("unsafe-wheel", True)


@pytest.mark.parametrize("name", ["vllm.whl", "vllm-0.26.0-py3-none-any.whl", "torch-0.25.1-py3-none-any.whl"])
def test_a_renamed_wheel_is_refused(tmp_path: Path, name: str) -> None:
    assert refusal(str(make_wheel(tmp_path, MEMBERS).rename(tmp_path / name)))[0] == "unsafe-wheel"


def test_bytes_that_record_does_not_list_refuse_the_wheel(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, [(ONE, b"one = 1\n")], rows=[(ONE, "sha256=x", ""), (f"{INFO}/RECORD", "", "")])
    with pytest.raises(TargetError) as caught, opened_candidate(str(wheel), names={"vllm"}, environ={}) as found:
        found.tree.read([ONE])
    assert caught.value.problem.code == "wrong-record"
