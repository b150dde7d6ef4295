"""The pages of ``report``: what they say, that hostile text stays text, and that a browser finds nothing to fetch."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from patchctl.commands import Clock
from patchctl.commands.describe import Described
from patchctl.errors import Problem
from patchctl.ledger import History
from patchctl.publishing import BEGIN, END
from patchctl.render.escape import https_address, markdown, markdown_code
from patchctl.render.pages.html import html_page
from patchctl.render.pages.readme import readme_banner
from tests.report_desk import HOSTILE, PAYLOADS, make_desk, make_hostile_desk
from tests.running import Desk
from tests.test_report_schema import TARGET, history_report, ps_report, status_report

STRUCTURE = {"html", "head", "meta", "title", "style", "body", "main", "header", "section", "article", "nav", "footer"}
TEXT = {"h1", "h2", "h3", "h4", "p", "b", "code", "span", "div", "ul", "li", "a", "br", "dl", "dt", "dd", "pre"}
TABLES = {"table", "tr", "th", "td", "details", "summary"}
ATTRIBUTES = {"class", "id", "href", "rel", "lang", "charset", "name", "content", "http-equiv"}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return make_desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return make_hostile_desk(tmp_path_factory.mktemp("hostile"))


class Reader(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.parts)


def page(desk: Desk) -> str:
    done = desk.run("report", "--format", "html")
    assert done.code == 0
    return done.out


def shown(text: str) -> str:
    """How a control character is shown."""
    return "".join(
        char if char.isprintable() else f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
        for char in text
    )


def spoilt(value: Any) -> Any:
    """Return a value with every text in it made hostile; words of the code, such as a verdict, stay."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return HOSTILE
    if isinstance(value, bytes):
        return HOSTILE.encode()
    if isinstance(value, Mapping):
        return {spoilt(key): spoilt(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [spoilt(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


class TestBanner:
    def test_says_how_many_why_since_when_on_what_until_when_and_how_to_check(self, desk: Desk) -> None:
        lines = desk.run("report").out.split("\n")
        head = (
            "> **This environment carries 2 local patches.** They must be applied again, or proven unneeded, at every"
        )
        assert lines[2].startswith(head)
        assert f"> vllm `0.20.0+das.dtk2604` in `{desk.site}`" in lines
        at = lines.index("> - **Pad a short image** (`contained`)")
        assert lines[at + 1] == ">   - why: One raise."
        since = r">   - since: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, revision 1, on vllm `0\.20\.0\+das\.dtk2604`"
        assert re.fullmatch(since, lines[at + 2])
        assert lines[at + 3] == ">   - may go: removal"
        options = f"--site {desk.site} --registry {desk.registry}"
        assert lines[at + 4] == f">   - check: `patchctl check contained {options}`"

    def test_says_what_is_due_held_or_only_avoided(self, desk: Desk) -> None:
        page = desk.run("report").out
        for title, entry in (("**not in**", "waiting"), ("**not in**", "misfit"), ("operator", "kept-out")):
            assert page.index(title) < page.index(f"(`{entry}`)")
        assert "(`waiting`): apply\n" in page
        assert "(`misfit`): port: vllm/d.py, hunk 1: its lines are not in the file\n" in page
        assert "the night shift does without" in page
        assert page.index("only avoided") < page.index("(`only-advice`)")
        assert "by-name" not in page
        assert "(`upstream`)" not in page

    def test_of_an_environment_without_patches_says_so(self, desk: Desk, tmp_path: Path) -> None:
        clean = make_desk(tmp_path)
        assert clean.run("revert", "--all").code == 0
        assert "**This environment carries no local patches.**" in clean.run("report").out

    def test_counts_what_somebody_did_by_hand_and_says_that_nobody_recorded_it(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        shutil.rmtree(desk.site / ".patchctl")
        page = desk.run("report").out
        assert "carries 2 local patches" in page
        assert page.count("since: nobody recorded it") == 2

    def test_says_when_a_patch_may_go(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path)
        proof = (desk.registry or tmp_path) / "vllm" / "ported" / "patch.toml"
        proof.write_text(proof.read_text().replace("line_7 = 2", "line_7 = 1"))
        assert "proven fixed in this build**: `patchctl retire ported " in desk.run("report").out

    @pytest.mark.attack("markdown-text")
    def test_has_no_line_that_hostile_text_began(self, hostile: Desk) -> None:
        out = hostile.run("report").out
        lines = out.split("\n")
        assert (lines[0], lines[-2]) == (BEGIN, END)
        assert (out.count(BEGIN), out.count(END)) == (1, 1)
        assert all(line.startswith(">") for line in lines[2:-3])

    @pytest.mark.attack("markdown-text")
    def test_shows_hostile_text_as_it_is(self, hostile: Desk) -> None:
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        body = hostile.run("report").out.removeprefix(BEGIN + "\n").removesuffix(END + "\n")
        reader = Reader(parser.render(body))
        assert {tag for tag, _ in reader.elements} <= {"blockquote", "p", "ul", "li", "strong", "code"}
        assert all(attributes == {} for _, attributes in reader.elements)
        assert f"may go: {shown(HOSTILE)}\n" in reader.text

    def test_stays_the_same_between_two_looks(self, desk: Desk) -> None:
        assert desk.run("report").out == desk.run("report", env={"SOURCE_DATE_EPOCH": "1"}).out


@pytest.mark.attack("markdown-text")
class TestMarkdown:
    @pytest.mark.parametrize("text", [*PAYLOADS, "_a_ __b__ *c*", "a_b_c", "back\\slash", "a&amp;b", "&#60;b&#62;"])
    def test_means_the_text_and_nothing_else(self, text: str) -> None:
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        for escaped in (markdown(text), markdown_code(text)):
            assert not re.search("<(?!/?code>)", escaped)
            reader = Reader(parser.render(f"x {escaped} x"))
            assert {tag for tag, _ in reader.elements} <= {"p", "code"}
            assert reader.text == f"x {shown(text)} x\n"

    def test_makes_no_link_of_an_address(self) -> None:
        assert "://" not in markdown("see http://evil.example and www.evil.example")
        assert "www." not in markdown("see http://evil.example and www.evil.example")

    @pytest.mark.parametrize(
        "text",
        ["http://a.example", "javascript:alert(1)", "https://a b", "https://a\n", "HTTPS://x", "https://\u202e", None],
    )
    def test_no_address_but_https_leads_anywhere(self, text: str | None) -> None:
        assert https_address(text) is None

    def test_an_address_cannot_leave_its_attribute(self) -> None:
        assert https_address('https://a.example/"><script>') == "https://a.example/&quot;&gt;&lt;script&gt;"


class TestWebPage:
    def test_has_entries_fixes_evidence_diffs_history_and_processes(self, desk: Desk) -> None:
        reader = Reader(page(desk))
        ids = {attributes["id"] for tag, attributes in reader.elements if tag == "article"}
        names = {"contained", "ported", "waiting", "misfit", "kept-out", "by-name", "upstream", "only-advice"}
        assert ids == names
        for words in (
            "Pad a short image",
            "not in this build",
            "vllm/b.py contains line_7 = 2",
            "in this build, proven",
            "--max-num-seqs 1",
            "-line_3 = 1",
            "+line_3 = 2",
            "the night shift does without",
            "CVE-2026-1001",
            "applied contained",
            "Processes",
        ):
            assert words in reader.text, words
        tinted = [attributes.get("class") for tag, attributes in reader.elements if tag == "span"]
        assert {"add", "cut", "at", "name"} <= set(tinted)

    @pytest.mark.attack("web-text")
    def test_holds_nothing_that_acts_or_is_fetched(self, hostile: Desk) -> None:
        reader = Reader(page(hostile))
        assert {tag for tag, _ in reader.elements} <= STRUCTURE | TEXT | TABLES
        assert {name for _, attributes in reader.elements for name in attributes} <= ATTRIBUTES
        links = [attributes["href"] or "" for tag, attributes in reader.elements if tag == "a"]
        assert [link for link in links if not link.startswith(("#", "https://example.org/"))] == []

    @pytest.mark.attack("web-text")
    def test_shows_hostile_text_of_every_field_as_it_is(self, hostile: Desk) -> None:
        text = Reader(page(hostile)).text
        assert (
            text.count(shown(HOSTILE)) >= 3 * 7
        )  # title, why, how, may go, reference, note, and where it is held or avoided
        for words in ("+line_3 = ", "log line", "vllm/<u>`|x.py", "/<!-- patchctl:end --> `<i>|/site"):
            assert words in text

    def test_shows_every_text_that_it_is_given_as_it_is(self) -> None:
        """Also those that a loader or the ledger would refuse: an id, a build, a time, a digest."""
        problem = Problem(code="c", message="m", hint="h", patch="p", path="x", line=3, key="k")
        found = spoilt(
            Described(
                target=TARGET,
                entries=status_report().assessments,
                options=(),
                clock=Clock(now=0, stamp="1970-01-01T00:00:00Z"),
                history=History(records=(history_report().history or History()).records, problems=(problem,)),
                processes=ps_report().processes,
                errors=(problem._replace(message="another"),),
                warnings=(problem,),
            )
        )
        found = found._replace(errors=(problem._replace(patch=PAYLOADS[0], path=PAYLOADS[1]),))
        reader = Reader(html_page(found))
        assert {tag for tag, _ in reader.elements} <= STRUCTURE | TEXT | TABLES
        assert {name for _, attributes in reader.elements for name in attributes} <= ATTRIBUTES
        assert reader.text.count(shown(HOSTILE)) > 50
        assert Reader(MarkdownIt("commonmark").render(readme_banner(found))).text.count(shown(HOSTILE)) > 5

    @pytest.mark.attack("web-text")
    def test_has_a_policy_that_allows_its_own_style_and_nothing_else(self, desk: Desk) -> None:
        text = page(desk)
        (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        (policy,) = [it["content"] for tag, it in Reader(text).elements if it.get("http-equiv")]
        assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        assert "url(" not in style
        assert "@import" not in style

    def test_is_ascii(self, hostile: Desk) -> None:
        assert page(hostile).isascii()


def browse(file: Path, profile: Path) -> tuple[str, list[str], list[str]]:
    """Open a page from its file: what the browser made of it, what it complained of, which addresses it asked for."""
    log = profile.with_suffix(".json")
    quiet = "--disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
    options = [*quiet.split(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    options += ["--enable-logging=stderr", "--v=0", f"--log-net-log={log}", "--virtual-time-budget=2000"]
    done = subprocess.run(
        [str(CHROMIUM), *options, "--dump-dom", file.as_uri()], capture_output=True, text=True, check=False, timeout=120
    )
    complaints = [line for line in done.stderr.split("\n") if "CONSOLE" in line]
    asked = {str(event.get("params", {}).get("url", "")) for event in json.loads(log.read_bytes())["events"]}
    return done.stdout, complaints, sorted(url for url in asked if re.match(r"(https?|wss?|ftp)://.*example", url))


@pytest.mark.attack("web-text")
@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
class TestBrowser:
    def test_opens_the_page_offline_without_a_complaint_or_a_request(self, hostile: Desk, tmp_path: Path) -> None:
        file = tmp_path / "page.html"
        assert hostile.run("report", "--format", "html", "--output", str(file)).code == 0
        seen, complaints, asked = browse(file, tmp_path / "profile")
        assert 'id="a-hostile"' in seen
        assert "alert(1)" in seen
        assert (complaints, asked) == ([], [])

    def test_would_have_complained(self, tmp_path: Path) -> None:
        """The other test can fail: the same policy, and a picture that no escaper took care of."""
        file = tmp_path / "page.html"
        found = Described(target=TARGET, entries=(), options=(), clock=Clock(now=0, stamp="-"))
        file.write_text(html_page(found).replace("</main>", PAYLOADS[1] + PAYLOADS[0] + "</main>"))
        _, complaints, _ = browse(file, tmp_path / "profile")
        assert len(complaints) >= 2
