"""What is read of a distribution: METADATA, RECORD, fingerprint, its own version, and whether it is editable."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from patchctl.errors import TargetError
from patchctl.model.files import sha256_hex
from patchctl.model.target import Distribution, pristine
from patchctl.target import find_target
from patchctl.target.distributions import parse_source_version
from patchctl.target.holdings import normal_name, parse_headers
from patchctl.target.record import fingerprint, parse_record
from tests.sites import Content, install, make_site, record_bytes, record_row, tree_state, write

FILES: dict[str, bytes | Content] = {
    "vllm/__init__.py": b"",
    "vllm/_version.py": b"__version__ = version = '0.20.0'\n",
    "vllm/configs/E=64,N=640,device_name=K100.json": b"{}\n",
    "vllm/_C.abi3.so": b"\x7fELF",
}


def read(site: Path, name: str = "vllm") -> Distribution:
    target = find_target(site=str(site), python=None, environ={}, names=[name])
    (distribution,) = target.distributions.values()
    return distribution


def refused(site: Path, code: str) -> str:
    with pytest.raises(TargetError) as caught:
        read(site)
    assert caught.value.problem.code == code
    return caught.value.problem.message


# --- names and METADATA


@pytest.mark.parametrize("name", ["flash-attn", "Flash_Attn", "flash.attn", "FLASH--_attn"])
def test_names_are_compared_normalised(name: str, tmp_path: Path) -> None:
    assert normal_name(name) == "flash-attn"
    site = make_site(tmp_path, {}, name=name)
    assert read(site, "flash_ATTN").name == "flash-attn"


def test_a_longer_name_is_another_distribution(tmp_path: Path) -> None:
    site = make_site(tmp_path, {}, name="vllm-ascend", build="0.20.0")
    assert "vllm is not installed" in refused(site, "no-distribution")
    install(site, {}, build="0.20.1")
    assert read(site).build == "0.20.1"


@pytest.mark.parametrize(
    ("data", "name", "version"),
    [
        (b"Metadata-Version: 2.1\nName: vllm\nVersion: 0.20.0+das.dtk2604\n\nbody", "vllm", "0.20.0+das.dtk2604"),
        (b"Metadata-Version: 2.1\r\nNAME: vllm\r\nversion:0.20.0\r\n\r\nName: x\r\n", "vllm", "0.20.0"),
        (b"Name: vllm\n\nVersion: 9\n", "vllm", None),
        (b"Name: vllm\nSummary: a\n Version: 8\nVersion: 1\nVersion: 2\n", "vllm", "1"),
        (b"Version: dev\nDescription: x\n        |Name: y\nName: z\n", "z", "dev"),
        (b"", None, None),
        (b"no colon here\nName:\nVersion: \n", None, None),
        (b"Name: vll\xff\nVersion: 1\n", "vll\ufffd", "1"),
    ],
)
def test_metadata_is_read_for_name_and_version_up_to_the_first_empty_line(
    data: bytes, name: str | None, version: str | None
) -> None:
    assert parse_headers(data) == (name, version)


def test_the_build_string_is_metadatas_own_and_not_the_directorys(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES)
    (site / "vllm-0.20.0.dist-info").rename(site / "vllm-0.19.1.dist-info")
    assert (read(site).build, read(site).info) == ("0.20.0", "vllm-0.19.1.dist-info")


def test_leftovers_are_no_distributions(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES)
    write(site / "~llm-0.19.1.dist-info/METADATA", b"Name: vllm\nVersion: 0.19.1\n")
    write(site / "~vllm-0.19.1.dist-info/METADATA", b"Name: vllm\nVersion: 0.19.1\n")
    write(site / "vllm-0.18.0.dist-info/RECORD", b"")
    write(site / "vllm-0.17.0.dist-info/METADATA", b"Metadata-Version: 2.1\nVersion: 0.17.0\n")
    write(site / "-0.16.0.dist-info/METADATA", b"Name: vllm\nVersion: 0.16.0\n")
    assert read(site).build == "0.20.0"


def test_two_dist_infos_of_one_name_are_an_ambiguity_that_names_both(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, build="0.20.0")
    install(site, FILES, build="0.21.0")
    message = refused(site, "ambiguous-distribution")
    assert "vllm-0.20.0.dist-info and vllm-0.21.0.dist-info" in message


def test_a_link_from_metadata_to_other_bytes_than_record_lists_is_told_and_not_followed(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES)
    metadata = site / "vllm-0.20.0.dist-info/METADATA"
    metadata.unlink()
    write(tmp_path / "elsewhere", b"Name: vllm\nVersion: 9.secret\n")
    metadata.symlink_to(tmp_path / "elsewhere")
    message = refused(site, "unreadable-metadata")
    assert message.startswith("vllm-0.20.0.dist-info/METADATA is a symbolic link")
    assert "secret" not in message


def test_metadata_that_is_a_fifo_does_not_hang(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES)
    (site / "vllm-0.20.0.dist-info/METADATA").unlink()
    os.mkfifo(site / "vllm-0.20.0.dist-info/METADATA")
    assert "is not a regular file" in refused(site, "unreadable-metadata")


def test_installer_is_read_and_may_be_missing(tmp_path: Path) -> None:
    for installer in ("pip", "uv", None):
        assert read(make_site(tmp_path / str(installer), FILES, installer=installer)).installer == installer


# --- RECORD


def test_record_is_read_with_quoted_commas_under_both_line_ends(tmp_path: Path) -> None:
    pip = read(make_site(tmp_path / "a", FILES, installer="pip")).record
    uv = read(make_site(tmp_path / "b", FILES, installer="uv")).record
    assert pip is not None
    assert uv is not None
    for record in (pip, uv):
        assert {path: record[path] for path in FILES} == {path: record_row(path, FILES[path])[1] for path in FILES}
        assert record["vllm-0.20.0.dist-info/RECORD"] is None
    assert pip["vllm/__pycache__/__init__.cpython-311.pyc"] is None
    assert "../../../bin/vllm" in pip
    assert "../../../bin/vllm" not in uv


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", {}),
        (b"a.py,sha256=x,1\r\n\r\nb.py,,\r\n", {"a.py": "sha256=x", "b.py": None}),
        (b'"a, ""b"".py",sha256=x,1\n', {'a, "b".py': "sha256=x"}),
        (b"a.py\nb.py,sha256=y\n", {"a.py": None, "b.py": "sha256=y"}),
        (b"caf\xe9.py,sha256=x,1\n", {"caf\udce9.py": "sha256=x"}),
        ("größe.py,sha256=x,1\n".encode(), {"größe.py": "sha256=x"}),
        (b'"a.py,sha256=x,1\nb.py,sha256=y,1\n', None),
        (b'"a"b.py,sha256=x,1\n', None),
    ],
)
def test_record_rows_are_parsed_or_the_whole_is_damaged(data: bytes, rows: dict[str, str | None] | None) -> None:
    assert parse_record(data) == rows


def test_a_missing_or_damaged_record_is_none(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, record=False)
    assert (read(site).record, read(site).fingerprint, read(site).editable) == (None, None, False)
    write(site / "vllm-0.20.0.dist-info/RECORD", b'"torn')
    assert (read(site).record, read(site).fingerprint) == (None, None)


def test_reading_leaves_record_and_everything_else_as_it_is(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES)
    before = tree_state(site)
    read(site)
    assert tree_state(site) == before


# --- fingerprint


def test_the_fingerprint_is_the_same_whoever_installed_it(tmp_path: Path) -> None:
    prints = {
        read(make_site(tmp_path / "pip", FILES, installer="pip")).fingerprint,
        read(make_site(tmp_path / "uv", FILES, installer="uv")).fingerprint,
    }
    for where, row in [("t", ("bin/vllm", "sha256=B", "9")), ("u", ("/abs/vllm", "sha256=C", "9"))]:
        install(tmp_path / where, FILES, installer="uv", extra_rows=[row])
        prints.add(read(tmp_path / where).fingerprint)
    install(tmp_path / "v", FILES, info_files={"direct_url.json": b"{}", "REQUESTED": b""})
    prints.add(read(tmp_path / "v").fingerprint)
    assert len(prints) == 1
    (only,) = prints
    assert only is not None
    assert len(only) == 64


def test_the_fingerprint_tells_rebuilds_of_one_version_apart() -> None:
    rows: dict[str, str | None] = {"vllm/a.py": "sha256=x", "vllm/b.py": "sha256=y"}
    base = fingerprint(rows)
    assert fingerprint(dict(reversed(rows.items()))) == base
    for other in (
        {**rows, "vllm/a.py": "sha256=z"},
        {**rows, "vllm/c.py": None},
        {"vllm/a.py": "sha256=x"},
        {"vllm/a.py": "sha256=y", "vllm/b.py": "sha256=x"},
        {**rows, "vllm/_vendor/x-1.dist-info/METADATA": "sha256=q"},
    ):
        assert fingerprint(other) != base, other


def test_the_fingerprint_does_not_depend_on_the_build_string(tmp_path: Path) -> None:
    upstream = read(make_site(tmp_path / "a", FILES, build="0.20.0"))
    relabelled = read(make_site(tmp_path / "b", FILES, build="0.20.0+das.dtk2604"))
    assert upstream.fingerprint == relabelled.fingerprint
    assert upstream.build != relabelled.build


# --- pristine


def test_pristine_compares_with_record_and_is_unknown_without_a_hash(tmp_path: Path) -> None:
    distribution = read(make_site(tmp_path, FILES))
    comma = "vllm/configs/E=64,N=640,device_name=K100.json"
    assert pristine(distribution, comma, sha256_hex(b"{}\n")) is True
    assert pristine(distribution, comma, sha256_hex(b"{}\r\n")) is False
    assert pristine(distribution, comma, None) is False
    assert pristine(distribution, "vllm/new.py", sha256_hex(b"")) is None
    assert pristine(distribution, "vllm-0.20.0.dist-info/RECORD", sha256_hex(b"")) is None


@pytest.mark.parametrize(
    ("listed", "answer"),
    [
        ("sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", True),
        ("sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=", True),
        ("sha256=57DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", False),
        ("sha256=47DEQpj8", None),
        ("sha256=", None),
        ("sha512=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", None),
        ("md5=1B2M2Y8AsgTpgAmY7PhCfg", None),
        (None, None),
    ],
)
def test_pristine_reads_a_whole_urlsafe_sha256_and_nothing_else(listed: str | None, answer: bool | None) -> None:
    distribution = Distribution(name="x", build="1", info="x-1.dist-info", record={"empty.py": listed})
    assert pristine(distribution, "empty.py", sha256_hex(b"")) is answer


# --- the version the files themselves state


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b"__version__ = version = '0.20.0'\n__version_tuple__ = (0, 20, 0)\n", "0.20.0"),
        (b'# written by a tool\nversion: str\n__version__: str = "0.20.0+das"  # vendor\n', "0.20.0+das"),
        (b"version = __version__ = '1'\r\n", "1"),
        (b"__version_tuple__ = version_tuple = (0, 20)\n__version__ = '2'\n", "2"),
        (b"if 1:\n    __version__ = '3'\n", None),
        (b"__version__ = get_versions()['version']\n", None),
        (b"__version__ == '4'\n", None),
        (b"version_of = '5'\n", None),
        (b"__version__ = '6\n", None),
        (b"__version__\n", None),
        (b"", None),
    ],
)
def test_a_version_file_is_read_line_by_line_and_never_run(data: bytes, version: str | None) -> None:
    assert parse_source_version(data) == version


def test_the_version_file_is_the_import_packages_own(tmp_path: Path) -> None:
    assert read(make_site(tmp_path / "a", FILES)).source_build == "0.20.0"
    assert read(make_site(tmp_path / "b", FILES, record=False)).source_build == "0.20.0"
    assert read(make_site(tmp_path / "c", {"vllm/__init__.py": b""})).source_build is None
    renamed = {"_other/_version.py": b"version = '7'\n", "deep/in/_version.py": b"version = '8'\n"}
    assert read(make_site(tmp_path / "d", renamed)).source_build == "7"
    several = {"x/_version.py": b"version = '7'\n", "y/_version.py": b"version = '8'\n"}
    assert read(make_site(tmp_path / "e", several)).source_build is None


def test_a_version_file_that_cannot_be_read_states_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES)
    (site / "vllm/_version.py").unlink()
    write(tmp_path / "elsewhere.py", b"__version__ = '9'\n")
    (site / "vllm/_version.py").symlink_to(tmp_path / "elsewhere.py")
    assert read(site).source_build is None


# --- editable installs and eggs


def direct_url(*, editable: bool) -> bytes:
    return json.dumps({"url": "file:///src", "dir_info": {"editable": editable}}).encode()


def test_a_wheel_with_modules_is_not_editable(tmp_path: Path) -> None:
    assert read(make_site(tmp_path / "a", FILES)).editable is False
    install(tmp_path / "b", FILES, info_files={"direct_url.json": direct_url(editable=False)})
    assert read(tmp_path / "b").editable is False
    install(tmp_path / "c", FILES, info_files={"direct_url.json": b"[" * 100_000})
    assert read(tmp_path / "c").editable is False


def test_direct_url_tells_an_editable_install(tmp_path: Path) -> None:
    install(tmp_path / "a", FILES, info_files={"direct_url.json": direct_url(editable=True)})
    assert read(tmp_path / "a").editable is True
    install(tmp_path / "b", FILES, info_files={"direct_url.json": direct_url(editable=True)}, record=False)
    assert read(tmp_path / "b").editable is True


@pytest.mark.parametrize(
    "files",
    [
        {"__editable__.vllm-0.20.0.pth": b"/src\n"},
        {"__editable___vllm_0_20_0_finder.py": b"", "__editable__.vllm-0.20.0.pth": b"import x\n"},
        {"_vllm.pth": b"/src\n"},
        {},
    ],
)
def test_a_record_without_modules_tells_an_editable_install(tmp_path: Path, files: dict[str, bytes]) -> None:
    assert read(make_site(tmp_path, files, installer="uv")).editable is True


def test_without_record_the_redirection_in_the_site_tells(tmp_path: Path) -> None:
    site = make_site(tmp_path, FILES, record=False)
    write(site / "__editable__.vllm_ascend2-0.20.0.pth", b"/src\n")
    write(site / "x__editable__.vllm-0.20.0.pth", b"/src\n")
    assert read(site).editable is False
    write(site / "__editable__.vllm-0.20.0.pth", b"/src\n")
    assert read(site).editable is True


def test_an_egg_link_is_an_editable_install_of_the_tree_it_names(tmp_path: Path) -> None:
    write(tmp_path / "src/vllm.egg-info/PKG-INFO", b"Metadata-Version: 2.1\nName: vllm\nVersion: 0.9.2+das\n")
    site = tmp_path / "site"
    write(site / "vllm.egg-link", f"{tmp_path / 'src'}\n.".encode())
    write(site / "other.egg-link", f"{tmp_path / 'src'}\n.".encode())
    found = read(site)
    assert (found.build, found.info, found.editable, found.record) == ("0.9.2+das", "vllm.egg-link", True, None)


@pytest.mark.parametrize("text", ["relative/path\n", "/nowhere/at/all\n", "", "{site}\n"])
def test_an_egg_link_that_leads_nowhere_is_no_distribution(tmp_path: Path, text: str) -> None:
    write(tmp_path / "site/vllm.egg-link", text.format(site=tmp_path / "site").encode())
    refused(tmp_path / "site", "no-distribution")


@pytest.mark.parametrize("path", ["vllm-0.9.2.egg-info/PKG-INFO", "vllm-0.9.2-py3.10.egg-info"])
def test_an_egg_info_is_a_distribution_without_record(tmp_path: Path, path: str) -> None:
    write(tmp_path / path, b"Metadata-Version: 1.1\nName: vllm\nVersion: 0.9.2\n")
    write(tmp_path / "vllm/_version.py", b"__version__ = '0.9.3'\n")
    found = read(tmp_path)
    assert (found.build, found.record, found.source_build, found.editable) == ("0.9.2", None, "0.9.3", False)
    assert found.info == path.partition("/")[0]


def test_an_egg_is_refused_whether_zipped_or_not(tmp_path: Path) -> None:
    tmp_path.joinpath("a").mkdir()
    with zipfile.ZipFile(tmp_path / "a/vllm-0.9.2-py3.10.egg", "w") as egg:
        egg.writestr("EGG-INFO/PKG-INFO", "Name: vllm\nVersion: 0.9.2\n")
    write(tmp_path / "b/vllm-0.9.2-py3.10-linux-x86_64.egg/EGG-INFO/PKG-INFO", b"Name: vllm\nVersion: 0.9.2\n")
    for site in (tmp_path / "a", tmp_path / "b"):
        assert refused(site, "egg-install").startswith("vllm 0.9.2 is installed as an egg")


def test_a_large_record_costs_a_few_milliseconds() -> None:
    """3,148 rows, 533 of them quoted, as in vLLM 0.20.0; the bound leaves room for a slow machine."""
    import time

    digest = "sha256=" + "A" * 43
    rows = [
        (f"vllm/a{n // 50}/E={n},N=1.json" if n % 6 == 0 else f"vllm/a{n // 50}/m{n}.py", digest, "1")
        for n in range(3148)
    ]
    data = record_bytes(rows, crlf=True)
    took = []
    for _ in range(5):
        start = time.perf_counter()
        record = parse_record(data) or {}
        fingerprint(record)
        took.append(time.perf_counter() - start)
        assert len(record) == 3148
    assert min(took) < 0.030
