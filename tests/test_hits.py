"""``hits`` from the command line: which entries, what is counted, in which shapes, and how it ends."""

from __future__ import annotations

import csv
import gzip
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.hits import registry_for
from tests.bench.hits_log import make_log
from tests.contract import complaints
from tests.environments import without_decisions
from tests.log_lines import MESSAGE, PATTERN, access, hit
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, on_a_terminal, patchctl
from tests.sites import make_site
from tests.test_contract import live_controls
from tests.test_hits_logs import zstd

ID = "mm-placeholder"
HOSTILE = 'evil"\\<script>alert(1)</script>\x1b]8;;http://x\x07\u202e&'


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return registry_for(tmp_path / "registry")


@pytest.fixture
def count(registry: Path, tmp_path: Path) -> Callable[..., Done]:
    """Count a log with every entry of the registry; arguments of bytes are written into logs of their own."""

    def run(*arguments: str | bytes) -> Done:
        names = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                (tmp_path / f"{number}.log").write_bytes(argument)
                argument = str(tmp_path / f"{number}.log")  # noqa: PLW2901
            names.append(argument)
        return patchctl("hits", "--all", "--registry", str(registry), *names)

    return run


def one(done: Done) -> dict[str, Any]:
    """The one entry of a document that is as the schema says."""
    assert complaints(done.document) == []
    (found,) = done.document["hits"]["entries"]
    assert isinstance(found, dict)
    return found


class TestEntries:
    def test_are_those_that_are_applied(self, tmp_path: Path) -> None:
        base = b"a\nb\nc\n"
        registry = make_registry(tmp_path / "registry")
        for id_ in ("mm-in", "mm-out"):
            path = f"vllm/{id_}/utils.py"
            add_entry(registry, id_, make_diff({path: (base, b"a\nB\nc\n")}), signal={"log": PATTERN})
        site = make_site(tmp_path, {f"vllm/{id_}/utils.py": base for id_ in ("mm-in", "mm-out")})
        desk = Desk(site=site, registry=registry)
        log = tmp_path / "a.log"
        log.write_bytes(hit() * 3)
        nothing = desk.json("hits", str(log))
        assert nothing.code == 3
        assert [problem["code"] for problem in nothing.document["errors"]] == ["no-signal"]
        assert desk.run("apply", "mm-in").code == 0
        done = desk.json("hits", str(log))
        assert done.code == 0
        assert one(done)["id"] == "mm-in"
        assert done.document["hits"]["scope"] == "applied"
        everything = desk.json("hits", "--all", str(log))
        assert [entry["id"] for entry in everything.document["hits"]["entries"]] == ["mm-in", "mm-out"]

    def test_are_all_where_no_environment_is(self, registry: Path, tmp_path: Path) -> None:
        (tmp_path / "a.log").write_bytes(hit())
        env = {"PATH": str(tmp_path), "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}
        done = patchctl("hits", "--registry", str(registry), str(tmp_path / "a.log"), "--json", env=env)
        assert done.code == 0
        assert done.document["hits"]["scope"] == "registry"
        named = patchctl("hits", "--site", str(tmp_path / "no"), str(tmp_path / "a.log"), "--json", env=env)
        assert named.code == 3
        assert "hits" not in named.document

    def test_whose_diff_is_broken_are_not_counted_and_told(self, registry: Path, tmp_path: Path) -> None:
        folder = add_entry(
            registry, "broken", make_diff({"vllm/x.py": (b"a\nb\n", b"a\nc\n")}), signal={"log": "abcdef"}
        )
        (folder / "fix.diff").write_bytes(b"nothing")
        (tmp_path / "a.log").write_bytes(hit())
        done = patchctl("hits", "--all", "--registry", str(registry), str(tmp_path / "a.log"), "--json")
        assert done.code == 3
        assert one(done)["lines"] == 1
        assert [problem["patch"] for problem in done.document["errors"]] == ["broken"]

    @pytest.mark.slow
    def test_of_the_bundled_registry_are_counted_in_what_their_diffs_write(self, tmp_path: Path) -> None:
        grammar = b"grammar compilation failed: request chatcmpl-1 ends with an error (RuntimeError)"
        gate = b"DeepGEMM is not used: its JIT finds no nvcc. "
        (tmp_path / "a.log").write_bytes(
            hit() * 2
            + hit(file="__init__.py", message=grammar, tag="(EngineCore pid=1) ")
            + hit(file="deep_gemm.py", message=gate)
        )
        done = patchctl("hits", "--all", str(tmp_path / "a.log"), "--json")
        lines = {entry["id"]: (entry["lines"], entry["kinds"]) for entry in done.document["hits"]["entries"]}
        assert lines == {
            "vllm-deepgemm-toolchain-gate": (1, [{"kind": "nvcc", "lines": 1}]),
            "vllm-grammar-compile-containment": (1, [{"kind": "RuntimeError", "lines": 1}]),
            "vllm-mm-placeholder-degrade": (2, [{"kind": "pad", "lines": 2}]),
        }


class TestCounts:
    def test_are_by_kind_instance_hour_and_day(self, count: Callable[..., Done]) -> None:
        truncate = MESSAGE.replace(b"pad 303", b"truncate 330")
        done = count(
            hit("07-01 12:59:59") + hit("07-01 13:00:00") + access() * 500,
            hit("07-02 00:30:00", message=truncate) + access() * 1000,
            "--json",
        )
        found = one(done)
        assert found["kinds"] == [{"kind": "pad", "lines": 2}, {"kind": "truncate", "lines": 1}]
        assert [(Path(row["instance"]).name, row["lines"]) for row in found["instances"]] == [
            ("0.log", 2),
            ("1.log", 1),
        ]
        assert [(row["hour"][5:], row["lines"]) for row in found["hours"]] == [
            ("07-01T12:00", 1),
            ("07-01T13:00", 1),
            ("07-02T00:00", 1),
        ]
        assert [(row["day"][5:], row["lines"]) for row in found["days"]] == [("07-01", 2), ("07-02", 1)]
        assert (found["first"][5:], found["last"][5:]) == ("07-01T12:59:59", "07-02T00:30:00")
        assert done.document["hits"]["requests"]["total"] == 1500
        assert found["per_thousand"] == 2.0
        assert found["mismatch"]["groups"] == ["embeddings", "placeholders"]
        assert found["mismatch"]["difference"] == 24
        assert [row["total"] for row in found["numbers"]] == [303 * 2 + 330, 327 * 3]

    def test_are_a_rate_only_where_requests_are_known(self, count: Callable[..., Done]) -> None:
        assert one(count(hit(), "--json"))["per_thousand"] is None
        assert one(count(hit(), "--json", "--requests", "4000"))["per_thousand"] == 0.25
        assert count(hit() + access(), "--requests", "10", "--json").document["hits"]["requests"]["total"] == 10

    def test_of_ranks_are_divided_as_their_names_or_the_operator_say(self, count: Callable[..., Done]) -> None:
        ranks = b"".join(hit(tag=f"(Worker_TP{rank} pid={rank}) ") for rank in range(4))
        cases: list[tuple[bytes, tuple[str, ...], tuple[float, int, str]]] = [
            (ranks * 3, (), (3, 4, "seen")),
            (ranks * 3, ("--ranks", "2"), (6, 2, "given")),
            (hit() * 8, (), (8, 1, "none")),
            (hit() * 8, ("--ranks", "4"), (2, 4, "given")),
            (hit() * 3, ("--ranks", "2"), (1.5, 2, "given")),
            (hit(tag="(EngineCore_DP0 pid=1) ") * 8, ("--ranks", "4"), (8, 4, "given")),
            (ranks + hit(tag="(EngineCore pid=1) "), (), (2, 4, "seen")),
        ]
        for log, options, wanted in cases:
            found = one(count(log, *options, "--json"))
            assert (found["hits"], found["ranks"], found["ranks_from"]) == wanted

    def test_are_by_port_or_pid_where_that_is_asked_for(self, count: Callable[..., Done]) -> None:
        def started(port: int) -> bytes:
            message = b"Starting vLLM server on http://0.0.0.0:%d" % port
            return hit(file="api_server.py", message=message)

        log = started(8002) + hit(tag="(Worker pid=7) ") * 2 + started(8003) + hit(tag="(Worker pid=8) ")
        by_port = one(count(log, "--by", "port", "--json"))["instances"]
        assert by_port == [{"instance": "port 8002", "lines": 2}, {"instance": "port 8003", "lines": 1}]
        by_pid = one(count(log, "--by", "pid", "--json"))["instances"]
        assert by_pid == [{"instance": "pid 7", "lines": 2}, {"instance": "pid 8", "lines": 1}]

    def test_take_the_year_from_when_the_log_was_written(self, count: Callable[..., Done], tmp_path: Path) -> None:
        log = tmp_path / "a.log"
        log.write_bytes(hit("12-31 23:00:00") + hit("01-01 01:00:00") + hit("02-29 00:00:00") + hit("02-30 00:00:00"))
        os.utime(log, (1_767_232_800, 1_767_232_800))  # 2026-01-01 02:00 UTC
        found = one(count(str(log), "--json"))
        assert [row["day"] for row in found["days"]] == ["2024-02-29", "2025-12-31", "2026-01-01"]
        assert found["undated"] == 1

    def test_take_it_from_when_their_own_file_of_a_rotated_set_was_written(
        self, count: Callable[..., Done], tmp_path: Path
    ) -> None:
        for name, year_end in (("a.log.1", 1_735_689_600), ("a.log", 1_767_225_600)):  # 2025-01-01 and 2026-01-01 UTC
            (tmp_path / name).write_bytes(access() * 200 + hit("06-01 12:00:00"))
            os.utime(tmp_path / name, (year_end, year_end))
        found = one(count("--rotated", str(tmp_path / "a.log"), "--json"))
        assert [row["day"] for row in found["days"]] == ["2024-06-01", "2025-06-01"]

    def test_mark_an_hour_that_stands_out(self, count: Callable[..., Done]) -> None:
        steady = b"".join(hit(f"07-01 {hour:02}:00:00") for hour in range(24))
        assert one(count(steady, "--json"))["spikes"] == []
        found = one(count(steady + hit("07-01 09:30:00") * 9, "--json"))["spikes"]
        assert [(spike["hour"][-5:], spike["lines"]) for spike in found] == [("09:00", 10)]
        assert found[0]["limit"] == 4.0
        assert one(count(steady + hit("07-01 09:30:00") * 3, "--json"))["spikes"] == []

    def test_stay_in_bounds_whatever_a_log_says(self, registry: Path, tmp_path: Path) -> None:
        add_entry(
            registry, "words", None, kind="advisory", avoid=[{"args": ["--x"]}], signal={"log": "said (?P<word>.+)"}
        )
        lines = b"".join(hit(message=b"said w%d" % n, tag=f"(W{n} pid={n}) ") for n in range(2000))
        (tmp_path / "a.log").write_bytes(lines)
        done = patchctl("hits", "--all", "--by", "pid", "--registry", str(registry), str(tmp_path / "a.log"), "--json")
        found = next(entry for entry in done.document["hits"]["entries"] if entry["id"] == "words")
        for table in ("kinds", "instances", "writers"):
            assert len(found[table]) <= 201
            assert sum(row["lines"] for row in found[table]) == 2000
            assert "other" in {next(iter(row.values())) for row in found[table]}


class TestGeneratedLog:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gz", "zst"])
    def test_is_counted_as_it_was_made(
        self, count: Callable[..., Done], tmp_path: Path, pack: Callable[[bytes], bytes]
    ) -> None:
        log = tmp_path / "made.log"
        truth = make_log(log, 4_000_000, seed=5)
        log.write_bytes(pack(log.read_bytes()))
        done = count(str(log), "--json")
        found = one(done)
        assert {row["kind"]: row["lines"] for row in found["kinds"]} == dict(truth.kinds)
        assert {row["hour"][5:13].replace("T", " "): row["lines"] for row in found["hours"]} == dict(truth.hours)
        assert done.document["hits"]["requests"]["total"] == truth.requests
        assert done.document["hits"]["bytes"] == truth.size
        assert len(found["spikes"]) == 1
        assert truth.forged > 50


class TestReading:
    def test_a_log_that_cannot_be_read_leaves_the_others_counted(
        self, count: Callable[..., Done], tmp_path: Path
    ) -> None:
        packed = gzip.compress(hit() * 50_000)
        done = count(hit(), packed[:-50], str(tmp_path / "gone.log"), str(tmp_path), str(tmp_path / "*.no"), "--json")
        assert done.code == 3
        codes = [problem["code"] for problem in done.document["errors"]]
        assert sorted(codes) == ["cannot-read-log", "cannot-read-log", "log-cut-short", "no-log"]
        assert one(done)["lines"] > 1

    def test_standard_input_is_read_when_it_is_named(self, registry: Path) -> None:
        command = [sys.executable, "-m", "patchctl", "hits", "--all", "--registry", str(registry), "-"]
        done = subprocess.run(
            command, input=hit() * 4, capture_output=True, env=without_decisions(os.environ), check=True
        )
        assert b"hits=4\t" in done.stdout

    def test_no_answer_takes_the_place_of_a_log(self, count: Callable[..., Done], tmp_path: Path) -> None:
        (tmp_path / "a.log").write_bytes(hit())
        (tmp_path / "b.log").write_bytes(hit() * 2)
        (tmp_path / "link").symlink_to("b.log")
        for output in ("a.log", "link"):
            done = count("--csv", "--output", *(str(tmp_path / name) for name in (output, "a.log", "b.log")))
            assert (done.code, "is what is to be read" in done.err) == (2, True)
        assert (tmp_path / "b.log").read_bytes() == hit() * 2

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((), "no-logs-named"),
            (("a", "--json", "--csv"), "one-form"),
            (("a", "--html", "--csv", "--json"), "one-form"),
            (("a", "--json", "--output", "x"), "output-of-what"),
            (("-", "--follow", "--json"), "follow-stdin"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(
        self, count: Callable[..., Done], arguments: tuple[str, ...], code: str
    ) -> None:
        done = count(*arguments, *(() if "--json" in arguments else ("--json",)))
        assert done.code == 2
        if code != "one-form" or "--json" in arguments:
            assert code in {problem["code"] for problem in done.document["errors"]}

    @pytest.mark.attack("regex-stall")
    def test_a_pattern_that_takes_too_long_is_given_up_and_told(self, registry: Path, tmp_path: Path) -> None:
        add_entry(registry, "slow", None, kind="advisory", avoid=[{"args": ["--x"]}], signal={"log": "slow (a+)+b"})
        (tmp_path / "a.log").write_bytes(hit(message=b"slow " + b"a" * 60) * 40 + hit("07-01 12:00:01"))
        done = patchctl("hits", "--all", "--registry", str(registry), str(tmp_path / "a.log"), "--json")
        assert done.code == 3
        assert [problem["code"] for problem in done.document["errors"]] == ["slow-signal"]
        entries = {entry["id"]: entry for entry in done.document["hits"]["entries"]}
        assert entries["slow"]["passed_over"] == [{"reason": "too-slow", "lines": 40}]
        assert entries[ID]["lines"] == 1


class TestFollowing:
    @pytest.mark.slow
    def test_ends_with_the_answer_when_it_is_interrupted(self, registry: Path, tmp_path: Path) -> None:
        log, out = tmp_path / "a.log", tmp_path / "a.prom"
        log.write_bytes(hit())
        options = ["--all", "--follow", "--registry", str(registry), "--prometheus", "--output", str(out)]
        command = [sys.executable, "-m", "patchctl", "hits", *options, str(log)]
        environ = without_decisions(os.environ)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as process:
            wait_for(out.exists, process)
            early = out.read_text()
            with log.open("ab") as file:
                file.write(hit() * 2)
            time.sleep(1.2)
            log.rename(tmp_path / "a.log.1")
            log.write_bytes(hit() * 4)
            time.sleep(1.2)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
        assert (process.returncode, stderr) == (0, b"")
        assert f'patchctl_hits{{entry="{ID}"}} 1\n' in early
        assert b"hits=7\t" in stdout
        assert f'patchctl_hits{{entry="{ID}"}} 7\n' in out.read_text()


def wait_for(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until it is there; a process that did not bring it must not be waited for."""
    for _ in range(300):
        if there():
            return
        time.sleep(0.1)
    process.kill()
    raise AssertionError("it did not come")


class TestShapes:
    @pytest.fixture
    def hostile(self, registry: Path, tmp_path: Path) -> Path:
        """A log whose kinds and name are full of what must not reach anybody unescaped."""
        add_entry(
            registry, "words", None, kind="advisory", avoid=[{"args": ["--x"]}], signal={"log": "said (?P<word>.+)"}
        )
        log = tmp_path / "=cmd|'calc'!A1 <b>&.log"
        words = [HOSTILE, "=1+1", "+1", "-1", "@SUM(1)", "\t=1", "ok"]
        log.write_bytes(
            b"".join(hit(message=b"said " + word.encode()) for word in words) + hit("07-01 12:00:01") + access() * 3
        )
        return log

    def run(self, registry: Path, log: Path, *options: str) -> Done:
        done = patchctl("hits", "--all", "--registry", str(registry), str(log), *options)
        assert (done.code, done.err) == (0, "")
        return done

    @pytest.mark.attack("csv-formula")
    def test_csv_has_no_cell_that_is_a_formula(self, registry: Path, hostile: Path) -> None:
        done = self.run(registry, hostile, "--csv")
        rows = list(csv.reader(io.StringIO(done.out)))
        assert rows[0] == ["entry", "breakdown", "value", "lines", "hits", "per_thousand_requests"]
        assert {len(row) for row in rows} == {6}
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell not in {"", "-"}]
        assert "'=1+1" in cells
        assert not live_controls(done.out.encode())
        assert [ID, "total", "", "1", "1", "333.333"] in rows

    def test_prometheus_text_is_read_by_its_own_parser(self, registry: Path, hostile: Path) -> None:
        parser = pytest.importorskip("prometheus_client.parser")
        done = self.run(registry, hostile, "--prometheus")
        families = {family.name: family for family in parser.text_string_to_metric_families(done.out)}
        lines = families["patchctl_signal_lines"]
        assert lines.type == "counter"
        found = {(it.labels["entry"], it.labels["kind"]): it for it in lines.samples}
        assert found[ID, "pad"].value == 1
        assert found[ID, "pad"].labels["instance"] == str(hostile)
        assert sum(it.value for it in lines.samples if it.labels["entry"] == "words") == 7
        kinds = [kind for entry, kind in found if entry == "words"]
        assert 'evil"\\<script>alert(1)</script>\\x1b]8;;http://x\\x07\\u202e&' in kinds
        assert families["patchctl_requests"].samples[0].value == 3
        assert "patchctl_last_hit_timestamp_seconds" not in families  # nobody knows the zone
        known = self.run(
            registry, write(hostile.with_name("z.log"), b"2026-07-01T04:00:00Z stderr F " + hit()), "--prometheus"
        )
        assert f'patchctl_last_hit_timestamp_seconds{{entry="{ID}"}} 1782878400\n' in known.out

    def test_a_page_has_its_texts_escaped_and_fetches_nothing(self, registry: Path, hostile: Path) -> None:
        page = self.run(registry, hostile, "--html").out
        assert "<script" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "http://x\x07" not in page
        assert "<b>" not in page
        assert "default-src 'none'; style-src 'sha256-" in page
        assert not [word for word in ("src=", "href=", "url(", "@import", "style=", "onload") if word in page]
        assert not live_controls(page.encode())

    def test_records_and_terminal_show_no_live_control(self, registry: Path, hostile: Path) -> None:
        done = self.run(registry, hostile)
        assert not live_controls(done.out.encode())
        assert "count\twords\tlines=1\tkind=ok\n" in done.out
        screen = on_a_terminal("hits", "--all", "--registry", str(registry), str(hostile), "--no-color", columns=120)
        assert b"\x1b]8" not in screen
        assert "█".encode() in screen

    def test_a_terminal_shows_bars_and_says_what_they_are(self, registry: Path, tmp_path: Path) -> None:
        lines = b"".join(hit(f"07-01 {hour:02}:00:00") * (1 + 7 * (hour == 5)) for hour in range(12))
        log = write(tmp_path / "a.log", lines + access() * 1000)
        screen = on_a_terminal(
            "hits", "--all", "--registry", str(registry), str(log), "--no-color", columns=120
        ).decode()
        assert f"{ID}  19 hits, 19.00 per 1,000 requests" in screen
        assert "▁▁▁▁▁█▁▁▁▁▁▁" in screen
        assert "spike" in screen
        assert "mean + 3 * sqrt(mean)" in screen
        assert "largest    +24 (placeholders 327 less embeddings 303" in screen

    def test_a_single_line_is_called_one_line(self, registry: Path, tmp_path: Path) -> None:
        log = write(tmp_path / "a.log", hit() + b"x" * 3_000_000 + b"\n")
        command = ("hits", "--all", "--registry", str(registry), str(log))
        screen = on_a_terminal(*command, "--no-color", columns=120).decode()
        assert "embeddings 303 in 1 line, 303 to 303" in screen
        assert "1 line is longer than 256 KiB: only its beginning was read" in screen
        assert "long-lines=1" in patchctl(*command).out
        write(log, hit() * 2 + (b"x" * 3_000_000 + b"\n") * 2)
        screen = on_a_terminal(*command, "--no-color", columns=120).decode()
        assert "embeddings 606 in 2 lines, 303 to 303" in screen
        assert "2 lines are longer than 256 KiB: only their beginning was read" in screen
        assert "long-lines=2" in patchctl(*command).out

    def test_an_output_file_is_replaced_whole_and_nothing_else_is(self, registry: Path, tmp_path: Path) -> None:
        log = write(tmp_path / "a.log", hit())
        out = write(tmp_path / "a.csv", b"old")
        done = self.run(registry, log, "--csv", "--output", str(out))
        assert out.read_text().startswith("entry,")
        assert f"hits\t{ID}\t" in done.out
        (tmp_path / "link.csv").symlink_to(out)
        for name in ("link.csv", "registry", "no/x.csv"):
            refused = patchctl(
                "hits", "--all", "--registry", str(registry), str(log), "--csv", "--output", str(tmp_path / name)
            )
            assert refused.code == (3 if name == "no/x.csv" else 1), name
            assert "error:" in refused.err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.log", "link.csv", "registry"]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
