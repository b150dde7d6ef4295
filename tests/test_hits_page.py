"""The page of ``hits`` in a real browser: it opens from a file, shows the chart, and fetches nothing."""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.hits import registry_for
from tests.bench.hits_log import make_log
from tests.browser import CHROMIUM, OWN, QUIET, remembering_proxy
from tests.log_lines import hit
from tests.registries import add_entry
from tests.running import patchctl

HOSTILE = "<img src=x onerror=document.title='run'><script>document.title='run'</script>"

pytestmark = [
    pytest.mark.attack("web-text"),
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here"),
]


@pytest.fixture
def proxy() -> Iterator[tuple[int, list[bytes]]]:
    with remembering_proxy() as found:
        yield found


@pytest.fixture
def page(tmp_path: Path) -> Path:
    registry = registry_for(tmp_path / "registry")
    add_entry(registry, "words", None, kind="advisory", avoid=[{"args": ["--x"]}], signal={"log": "said (?P<word>.+)"})
    made = tmp_path / "made.log"
    make_log(made, 2_000_000)
    hostile = tmp_path / "hostile.log"
    hostile.write_bytes(hit(message=b"said " + HOSTILE.encode()))
    done = patchctl("hits", "--all", "--registry", str(registry), "--html", str(made), str(hostile))
    assert done.code == 0
    (tmp_path / "hits.html").write_text(done.out)
    return tmp_path / "hits.html"


def browse(page: Path, profile: Path, port: int, *options: str) -> tuple[str, list[str]]:
    """Open a page; return what the browser printed, and the messages of its console."""
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", f"--proxy-server=127.0.0.1:{port}"]
    command += ["--proxy-bypass-list=<-loopback>", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_opens_without_a_complaint_and_without_a_request(
    page: Path, proxy: tuple[int, list[bytes]], tmp_path: Path
) -> None:
    port, came = proxy
    dom, console = browse(page, tmp_path / "profile", port, "--dump-dom")
    assert console == []
    assert [request for request in came if not OWN.search(request)] == []
    assert "<title>patchctl hits</title>" in dom  # nothing from the log was run
    assert "&lt;img src=x onerror=" in dom
    assert len(re.findall(r'<rect class="(?:bar|spike)"', dom)) > 30


def test_shows_the_chart(page: Path, proxy: tuple[int, list[bytes]], tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    browse(page, tmp_path / "profile", proxy[0], f"--screenshot={shot}", "--window-size=1000,1400")
    pixels = colours_of(shot.read_bytes())
    assert pixels[0x35, 0x72, 0xB0] > 2000  # the bars, in the colour that the style sheet alone gives
    assert pixels[0xD1, 0x66, 0x2B] > 100  # the hour that stands out


def test_the_browser_would_have_complained(page: Path, proxy: tuple[int, list[bytes]], tmp_path: Path) -> None:
    """Without this the two above would pass with a browser that says nothing."""
    page.write_text(
        page.read_text().replace("</style>", " </style>").replace("</body>", '<img src="http://x.test/"></body>')
    )
    _, console = browse(page, tmp_path / "profile", proxy[0], "--dump-dom")
    assert len(console) >= 2
    plain = tmp_path / "plain.html"
    plain.write_text('<img src="http://x.test/">')
    browse(plain, tmp_path / "profile", proxy[0], "--dump-dom")
    assert any(b"x.test" in request for request in proxy[1])


def colours_of(png: bytes) -> dict[tuple[int, int, int], int]:
    """Count the colours of a PNG of eight bits a channel, without interlacing."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    packed, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            packed += png[at + 8 : at + 8 + size]
        at += size + 12
    return _count(zlib.decompress(packed), width, height, channels)


def _count(data: bytes, width: int, height: int, channels: int) -> dict[tuple[int, int, int], int]:
    stride, above = width * channels, bytes(width * channels)
    found: dict[tuple[int, int, int], int] = dict.fromkeys([(0x35, 0x72, 0xB0), (0xD1, 0x66, 0x2B)], 0)
    for row in range(height):
        begin = row * (stride + 1)
        line = _unfiltered(data[begin], bytearray(data[begin + 1 : begin + 1 + stride]), above, channels)
        for at in range(0, stride, channels):
            colour = (line[at], line[at + 1], line[at + 2])
            if colour in found:
                found[colour] += 1
        above = bytes(line)
    return found


def _unfiltered(kind: int, line: bytearray, above: bytes, step: int) -> bytearray:
    for at in range(len(line)):
        left = line[at - step] if at >= step else 0
        corner = above[at - step] if at >= step else 0
        if kind == 4:
            guess = left + above[at] - corner
            near = min(
                (abs(guess - left), 0, left), (abs(guess - above[at]), 1, above[at]), (abs(guess - corner), 2, corner)
            )
            line[at] = (line[at] + near[2]) & 0xFF
        else:
            line[at] = (line[at] + (0, left, above[at], (left + above[at]) // 2)[kind]) & 0xFF
    return line
