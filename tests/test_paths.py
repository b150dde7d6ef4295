"""The one checker of paths below a site."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.model.paths import LONGEST_COMPONENT, LONGEST_PATH, path_problem

BYTE_CODE = "is byte code, which is made from a source and removed when that changes"


@pytest.mark.parametrize(
    "path",
    [
        "vllm/envs.py",
        "single.py",
        "vllm/a b/ c.py",
        "vllm/..hidden/...py",
        "vllm/.github/x",
        "vllm/gitignore/.gitignore",
        "vllm/.patchctl/x",
        "vllm/\N{LATIN SMALL LETTER E WITH ACUTE}\N{CJK UNIFIED IDEOGRAPH-4E2D}.json",
        "vllm/E=16,N=1,device_name=X,dtype=fp8.json",
        "vllm/my_sitecustomize.py",
        "vllm/pth/notes.pth.txt",
        "vllm/pycache/x.pyc.txt",
        "dist-info/x.py",
        "vllm/_virtualenv.py",
        "vllm/quick.start",
        "vllm/_C.abi3.so",
        "a" * LONGEST_COMPONENT,
        "~/x",
        "C:/x",
    ],
)
def test_an_ordinary_path_has_no_problem(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "is empty"),
        ("/etc/passwd", "is absolute"),
        ("//x", "is absolute"),
        ("..", "contains '..'"),
        ("../x", "contains '..'"),
        ("vllm/../x", "contains '..'"),
        ("vllm/..", "contains '..'"),
        (".", "contains '.'"),
        ("./x", "contains '.'"),
        ("vllm/./x", "contains '.'"),
        ("vllm//x", "has an empty component"),
        ("vllm/", "has an empty component"),
        ("..\\x", "contains a backslash"),
        ("vllm\\x", "contains a backslash"),
        ("vllm/x\n", "contains a control character"),
        ("vllm/\x00", "contains a control character"),
        ("vllm/\x1b[31m", "contains a control character"),
        ("vllm/\x7f", "contains a control character"),
        ("vllm/\x85", "contains a control character"),
        ("vllm/\x9f", "contains a control character"),
        ("vllm/\udcff", "is not valid UTF-8"),
        (".git/config", "lies in a '.git' directory"),
        ("vllm/.GIT/hooks/post-checkout", "lies in a '.git' directory"),
        ("vllm/.git", "lies in a '.git' directory"),
        (".patchctl/ledger.json", "lies in patchctl's own state"),
        (".PatchCtl", "lies in patchctl's own state"),
        ("vllm-0.20.0.dist-info/RECORD", "belongs to the installer ('*.dist-info', '*.egg-info')"),
        ("vllm-0.20.0.DIST-INFO/RECORD", "belongs to the installer ('*.dist-info', '*.egg-info')"),
        ("x/vllm.egg-info/PKG-INFO", "belongs to the installer ('*.dist-info', '*.egg-info')"),
        ("vllm.egg-info", "belongs to the installer ('*.dist-info', '*.egg-info')"),
        ("x.pth", "is a '.pth' file, which every interpreter start runs"),
        ("vllm/X.PTH", "is a '.pth' file, which every interpreter start runs"),
        ("sitecustomize.py", "is 'sitecustomize', which every interpreter start runs"),
        ("sitecustomize/__init__.py", "is 'sitecustomize', which every interpreter start runs"),
        ("sitecustomize.cpython-311-x86_64-linux-gnu.so", "is 'sitecustomize', which every interpreter start runs"),
        ("vllm/SiteCustomize.pyc", "is 'sitecustomize', which every interpreter start runs"),
        ("_distutils_hack/__init__.py", "is '_distutils_hack', which a '.pth' file runs at every interpreter start"),
        ("_virtualenv.py", "is '_virtualenv', which a '.pth' file runs at every interpreter start"),
        ("__editable___x_finder.py", "is '__editable___x_finder', which a '.pth' file runs at every interpreter start"),
        ("_Editable_Impl_x.py", "is '_editable_impl_x', which a '.pth' file runs at every interpreter start"),
        ("x.start", "is a '.start' file, which every interpreter start reads"),
        ("usercustomize.py", "is 'usercustomize', which every interpreter start runs"),
        ("__pycache__/usercustomize.cpython-310.pyc", "is 'usercustomize', which every interpreter start runs"),
        ("vllm/__pycache__/x.cpython-311.pyc", BYTE_CODE),
        ("vllm/__pycache__", BYTE_CODE),
        ("vllm/__PyCache__/x.py", BYTE_CODE),
        ("vllm/x.pyc", BYTE_CODE),
        ("vllm/X.PYO", BYTE_CODE),
        ("a" * (LONGEST_COMPONENT + 1), f"has a component longer than {LONGEST_COMPONENT} bytes"),
        ("\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 86, f"has a component longer than {LONGEST_COMPONENT} bytes"),
        ("a/" * (LONGEST_PATH // 2) + "b", f"is longer than {LONGEST_PATH} bytes"),
    ],
)
def test_a_dangerous_path_is_named_with_its_reason(path: str, problem: str) -> None:
    assert path_problem(path) == problem


@settings(deadline=None)
@given(st.text(st.characters() | st.sampled_from("/.\\\x00"), max_size=40))
def test_a_path_without_problem_stays_below_the_site(path: str) -> None:
    if path_problem(path) is not None:
        return
    parts = path.split("/")
    assert not {"", ".", ".."} & set(parts)
    assert "\x00" not in path
    assert path.encode().decode() == path
