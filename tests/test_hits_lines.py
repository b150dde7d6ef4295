"""Which lines of a log are hits: vLLM's prefixes, what stands before them, and what was forged."""

from __future__ import annotations

import json

import pytest

from patchctl.signals import Watch, required_literal
from patchctl.signals.envelopes import Envelope, recognise
from tests.log_lines import FILES, MESSAGE, PATTERN, WATCH, access, counted, entry, header, hit
from tests.wheels import WheelUnavailableError, slim_wheel

COLOURED = (
    b"\x1b[0;36m(Worker_TP0 pid=7)\x1b[0;0m \x1b[33mWARNING\x1b[0m \x1b[90m07-01 12:00:00\x1b[0m"
    b" \x1b[90m[utils.py:123]\x1b[0m " + MESSAGE + b"\n"
)


def as_json(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def docker(text: bytes, time: str = "2026-07-01T04:00:00.123456789Z", stream: str = "stderr") -> bytes:
    return json.dumps({"log": text.decode(), "stream": stream, "time": time}, separators=(",", ":")).encode() + b"\n"


def journal(message: bytes, **fields: str) -> bytes:
    """Return one entry of the export format; a message that is no text of one line goes by its length."""
    given = {
        "__CURSOR": "s=1",
        "__REALTIME_TIMESTAMP": "1782878400000000",
        "_PID": "7",
        "_SYSTEMD_UNIT": "vllm@0.service",
    }
    lines = b"".join(f"{name}={value}\n".encode() for name, value in (given | fields).items())
    plain = b"MESSAGE=" + message + b"\n"
    sized = b"MESSAGE\n" + len(message).to_bytes(8, "little") + message + b"\n"
    return lines + (plain if message.isascii() and not set(message) & set(b"\n\r\x1b") else sized) + b"\n"


class TestPrefixes:
    @pytest.mark.parametrize(
        ("line", "process"),
        [
            (hit(), None),
            (b"WARNING 07-01 12:00:00 utils.py:123] " + MESSAGE + b"\n", None),
            (hit(tag="(Worker_TP0 pid=7) "), "Worker"),
            (hit(tag="(EngineCore_DP0 pid=7) "), "EngineCore"),
            (hit(tag="(RayWorkerWrapper pid=7, ip=10.0.0.1) "), "RayWorkerWrapper"),
            (hit("2026-07-01 12:00:00,123"), None),
            (hit("2026-07-01T12:00:00.5"), None),
            (COLOURED, "Worker"),
            (hit().replace(b"\n", b"\r\n"), None),
            (hit(file="v1/.../worker/gpu_model_runner.py"), None),
            (b"\0\0\0" + hit(), None),
            (
                as_json(
                    asctime="2026-07-01 12:00:00,123",
                    levelname="WARNING",
                    name="vllm.v1.worker.gpu_model_runner",
                    processName="Worker_TP1",
                    process=7,
                    message=MESSAGE.decode(),
                ),
                "Worker",
            ),
        ],
    )
    def test_of_every_release_are_read(self, line: bytes, process: str | None) -> None:
        found = entry(line)
        assert (found.lines, found.passed_over) == (1, ())
        assert found.writers == ((process or "-", 1),)
        assert found.first is not None
        assert found.first.second == 1_782_907_200  # 2026-07-01 12:00
        assert found.first.utc is False

    def test_may_begin_with_what_the_operator_set(self) -> None:
        for line in (b"[card 3] " + hit(), b"(Worker pid=7) [card 3] " + hit(), b"[card 3] (Worker pid=7) " + hit()):
            assert entry(line).passed_over == (("not-at-start", 1),)
            assert entry(line, prefix=b"[card 3] ").lines == 1

    @pytest.mark.wheels
    @pytest.mark.parametrize("version", ["0.19.1", "0.25.1", "0.33.0"])
    def test_of_the_released_formatter_itself_are_read(self, version: str) -> None:
        import logging
        import sys
        import types
        import zipfile

        try:
            wheel = slim_wheel(version)
        except WheelUnavailableError as error:
            pytest.skip(str(error))
        with zipfile.ZipFile(wheel) as archive:
            source = archive.read("vllm/logging_utils/formatter.py")
            logger = archive.read("vllm/logger.py").decode()
        envs = types.ModuleType("vllm.envs")
        envs.VLLM_LOGGING_LEVEL, envs.VLLM_LOGGING_PREFIX = "INFO", ""  # type: ignore[attr-defined]
        vllm = types.ModuleType("vllm")
        vllm.envs = envs  # type: ignore[attr-defined]
        module: dict[str, object] = {"__name__": "formatter", "__file__": "formatter.py"}
        known = {name: sys.modules.get(name) for name in ("vllm", "vllm.envs")}
        sys.modules |= {"vllm": vllm, "vllm.envs": envs}
        try:
            exec(compile(source, "formatter.py", "exec"), module)
            # The two assignments of the format alone; the rest of the module wants all of vLLM.
            start = logger.index("_FORMAT = (")
            end = logger.index("\n", logger.index("_DATE_FORMAT = "))
            exec(logger[start:end], {"envs": envs}, module)
        finally:
            for name, old in known.items():
                sys.modules.pop(name)
                if old is not None:
                    sys.modules[name] = old
        for kind in ("NewLineFormatter", "ColoredFormatter"):
            formatter = module[kind](module["_FORMAT"], datefmt=module["_DATE_FORMAT"])  # type: ignore[operator]
            args = MESSAGE.decode(), (), None
            record = logging.LogRecord("vllm.x", logging.WARNING, "/x/vllm/model_executor/models/utils.py", 123, *args)
            record.vllm_process_name = "Worker_TP0"
            assert entry(formatter.format(record).encode() + b"\n").lines == 1
            forged = logging.LogRecord(
                "vllm.x", logging.INFO, "/x/vllm/utils.py", 5, f"prompt\n{MESSAGE.decode()}", (), None
            )
            forged.vllm_process_name = "APIServer"
            found = entry(formatter.format(forged).encode() + b"\n")
            assert (found.lines, found.passed_over) == (0, (("continuation", 1),))


class TestEnvelopes:
    CRI = b"2026-07-01T12:00:00.123456789+08:00 stderr F "
    WRAPPED = (
        (Envelope.DOCKER_JSON, docker(hit()), "a.log"),
        (Envelope.CRI, CRI + hit(), "a.log"),
        (Envelope.STAMPED, b"2026-07-01T04:00:00.123456789Z " + hit(), "a.log"),
        (Envelope.COMPOSE, b"vllm-3  | " + hit(), "vllm-3"),
        (Envelope.COMPOSE, b"\x1b[36mvllm-3  | \x1b[0m2026-07-01T04:00:00.1Z " + hit(), "vllm-3"),
        (Envelope.SHORT, b"Jul 01 12:00:00 node7 vllm[7]: " + hit(), "vllm"),
        (Envelope.SHORT, b"Jul  1 12:00:00.123456 node7 vllm[7]: " + hit(), "vllm"),
        (Envelope.SHORT_ISO, b"2026-07-01T12:00:00+0800 node7 vllm[7]: " + hit(), "vllm"),
        (Envelope.SHORT_ISO, b"2026-07-01T12:00:00.123456+08:00 node7 vllm[7]: " + hit(), "vllm"),
        (Envelope.SHORT_FULL, b"Wed 2026-07-01 04:00:00 UTC node7 vllm[7]: " + hit(), "vllm"),
        (Envelope.SHORT_FULL, b"Wed 2026-07-01 12:00:00 CST node7 vllm[7]: " + hit(), "vllm"),
        (Envelope.JOURNAL_EXPORT, journal(hit()[:-1]), "vllm@0.service"),
        (Envelope.JOURNAL_EXPORT, journal(COLOURED[:-1]), "vllm@0.service"),
        (
            Envelope.JOURNAL_JSON,
            as_json(MESSAGE=hit()[:-1].decode(), __REALTIME_TIMESTAMP="1782878400000000", _SYSTEMD_UNIT="u", _PID="7"),
            "u",
        ),
        (
            Envelope.JOURNAL_JSON,
            as_json(MESSAGE=list(COLOURED[:-1]), __REALTIME_TIMESTAMP="1782878400000000", SYSLOG_IDENTIFIER="u"),
            "u",
        ),
    )

    @pytest.mark.parametrize(("envelope", "line", "instance"), WRAPPED)
    def test_are_recognised_and_taken_off(self, envelope: Envelope, line: bytes, instance: str) -> None:
        assert recognise(line * 3) is envelope
        found = entry(line * 3)
        assert (found.lines, found.passed_over) == (3, ())
        assert found.instances == ((instance, 3),)
        assert found.first is not None
        # 04:00 UTC where the line says its zone; otherwise 12:00 as it says.
        assert found.first.second == (1_782_878_400 if found.first.utc else 1_782_907_200)
        no_zone = {(Envelope.COMPOSE, b"vllm-3"), (Envelope.SHORT, b"Jul 01"), (Envelope.SHORT, b"Jul  1")}
        assert found.first.utc is not ((envelope, line[:6]) in no_zone or b"CST" in line)

    @pytest.mark.parametrize(("envelope", "line", "instance"), WRAPPED)
    @pytest.mark.parametrize("step", [1, 7, 64, 1000])
    def test_may_come_in_pieces_of_any_size(self, envelope: Envelope, line: bytes, instance: str, step: int) -> None:
        assert counted(line * 5, step=step) == counted(line * 5)

    def test_around_access_lines_are_taken_off_too(self) -> None:
        for wrapped in (
            docker(access()),
            self.CRI + access(),
            b"vllm-3  | " + access(),
            journal(access()[:-1]),
            b"2026-07-01T12:00:00+0800 node7 vllm[7]: " + access(tag="(APIServer pid=7) "),
        ):
            assert sum(count for _, count in counted(wrapped * 3).requests) == 3

    def test_that_a_message_only_imitates_stay(self) -> None:
        log = b"(APIServer pid=1) INFO 07-01 12:00:00 [loggers.py:1] Engine 000\n" * 30
        found = entry(log + b"2026-07-01T04:00:00Z " + hit())
        assert (found.lines, found.passed_over) == (0, (("not-at-start", 1),))

    def test_of_lines_in_pieces_are_joined(self) -> None:
        whole = hit()[:-1]
        start, clock = b"2026-07-01T04:00:00Z stderr P ", b"2026-07-01T04:00:00Z stderr F "
        for cut in (1, 20, 45, 60, len(whole) - 40):
            log = start + whole[:cut] + b"\n2026-07-01T04:00:01Z stdout F other\n" + clock + whole[cut:] + b"\n"
            for step in (3, 1 << 20):
                found = entry(log, step=step)
                assert (found.lines, found.passed_over) == (1, ()), cut

    def test_a_later_piece_of_a_line_is_no_line(self) -> None:
        cri = b"2026-07-01T04:00:00Z stderr P prompt: xxx\n2026-07-01T04:00:00Z stderr F " + hit()
        assert entry(cri).lines == 0
        split = docker(b"prompt: xxx") + docker(hit())
        found = entry(split)
        assert (found.lines, found.passed_over) == (0, (("continuation", 1),))


@pytest.mark.attack("forged-lines")
class TestForgeries:
    @pytest.mark.parametrize(
        ("line", "why"),
        [
            (MESSAGE + b"\n", "not-at-start"),
            (b"(APIServer pid=1) " + MESSAGE + b"\n", "not-at-start"),
            (b"ValueError: " + hit(), "not-at-start"),
            (
                header(file="logger.py", level="INFO") + b"Received request cmpl-1: prompt: '" + MESSAGE + b"'\n",
                "not-at-start",
            ),
            (header() + b"prompt: '" + MESSAGE + b"'\n", "not-at-start"),
            (header() + hit(), "not-at-start"),
            (header(file="logger.py") + MESSAGE + b"\n", "other-source"),
            (header() + MESSAGE[:-30] + b"\n", "not-at-start"),
            (b"2026-07-01 " + hit(), "not-at-start"),
            (as_json(levelname="INFO", name="vllm.entrypoints.logger", message=MESSAGE.decode()), "other-source"),
            (
                as_json(levelname="INFO", name="vllm.v1.worker.gpu_model_runner", message=f"x {MESSAGE.decode()}"),
                "not-at-start",
            ),
            (as_json(text=hit().decode()), "not-at-start"),
        ],
    )
    def test_are_passed_over_and_counted_as_that(self, line: bytes, why: str) -> None:
        found = entry(line)
        assert (found.lines, found.passed_over) == (0, ((why, 1),))

    def test_in_a_message_of_several_lines_are_its_continuation(self) -> None:
        prefix = header(tag="(Worker pid=7) ", level="INFO")
        lines = b"\r\n".join([prefix + b"prompt: hello", prefix + MESSAGE, prefix + MESSAGE, prefix + b"end"]) + b"\n"
        found = entry(lines)
        assert (found.lines, found.passed_over) == (0, (("continuation", 2),))

    def test_are_told_where_the_carriage_return_is_lost(self) -> None:
        prefix = header(tag="(Worker pid=7) ", level="INFO")
        for text in (b"prompt: hello", b""):
            lines = b"\n".join([prefix + text, prefix + MESSAGE, prefix + MESSAGE, prefix + b"end"]) + b"\n"
            assert entry(lines).passed_over == (("continuation", 2),)
            wrapped = b"".join(journal(line) for line in lines.split(b"\n")[:-1])
            assert entry(wrapped).lines == 0

    def test_are_told_where_other_processes_write_between_them(self) -> None:
        prefix = header(tag="(APIServer pid=1) ", level="INFO")
        noise = b"".join(hit(tag=f"(Worker_TP{rank} pid={rank}) ") for rank in range(4))
        found = entry(
            prefix + b"prompt: hello\r\n" + noise + prefix + MESSAGE + b"\r\n" + noise + prefix + MESSAGE + b"\n"
        )
        assert (found.lines, found.passed_over) == (8, (("continuation", 2),))

    @pytest.mark.parametrize("step", [1, 64, 5000, 1 << 20])
    def test_are_told_across_blocks(self, step: int) -> None:
        prefix = header(level="INFO")
        log = access() * 700 + prefix + b"x\r\n" + prefix + MESSAGE + b"\n" + access() * 700 + hit()
        found = entry(log, step=step)
        assert (found.lines, found.passed_over) == (1, (("continuation", 1),))

    def test_in_a_field_of_the_journal_are_no_entries(self) -> None:
        inner = b"x\n\nMESSAGE=" + hit()[:-1] + b"\n\n"
        for step in (5, 1 << 20):
            assert entry(journal(inner) * 3 + journal(hit()[:-1]), step=step).lines == 1

    def test_true_hits_in_one_second_all_count(self) -> None:
        assert entry(hit() * 5).lines == 5
        assert entry((hit(tag="(Worker_TP0 pid=1) ") + access()) * 5).lines == 5


class TestDamage:
    def test_a_line_without_its_end_counts_when_the_signal_is_whole(self) -> None:
        assert entry(hit() + hit()[:-1]).lines == 2
        assert entry(hit() + hit()[:-40]).passed_over == (("not-at-start", 1),)

    def test_a_line_that_another_one_runs_into_does_not_count(self) -> None:
        found = entry(header() + MESSAGE[:30] + hit() + hit())
        assert (found.lines, found.passed_over) == (1, (("not-at-start", 1),))

    @pytest.mark.parametrize("step", [1000, 70_000, 1 << 20])
    def test_a_very_long_line_is_read_at_its_beginning_and_told(self, step: int) -> None:
        long = header() + MESSAGE + b"x" * 3_000_000 + MESSAGE
        found = counted(hit() + long + b"\n" + hit(), step=step)
        assert found.entries[0].lines == 3
        assert found.long_lines == 1
        assert counted(hit() + long, step=step).long_lines == 1

    def test_no_bytes_and_no_lines_are_no_hits(self) -> None:
        for data in (b"", b"\n\n\n", b"\0" * 5000, bytes(range(256)) * 40):
            assert entry(data).lines == 0

    def test_broken_containers_are_no_hits(self) -> None:
        log = docker(access()) * 5 + docker(hit())[:-30] + b"\n" + docker(hit())
        assert entry(log).lines == 1


class TestRequests:
    @pytest.mark.parametrize(
        ("line", "count"),
        [
            (access(), 1),
            (access(tag="(APIServer pid=12) "), 1),
            (access("/v1/completions"), 1),
            (access("/v1/embeddings?x=1"), 1),
            (access("/generate", status=500), 1),
            (access().replace(b"INFO", b"\x1b[32mINFO\x1b[0m").replace(b"POST", b"\x1b[1mPOST"), 1),
            (access("/health", method="GET"), 0),
            (access("/v1/load_lora_adapter"), 0),
            (access("/tokenize"), 0),
            (header() + access(), 0),
            (b"x" + access(), 0),
            (b'"POST /v1/chat/completions HTTP/1.1" 200\n', 0),
            (as_json(name="uvicorn.access", message='1.2.3.4:5 - "POST /v1/completions HTTP/1.1" 200'), 1),
            (as_json(name="vllm.x", message='1.2.3.4:5 - "POST /v1/completions HTTP/1.1" 200'), 0),
        ],
    )
    def test_are_the_access_lines_to_the_model(self, line: bytes, count: int) -> None:
        assert counted(line).requests == ((("a.log", count),) if count else ())

    @pytest.mark.parametrize("step", [100, 1 << 16, 1 << 20])
    def test_are_counted_the_same_whatever_was_learned(self, step: int) -> None:
        log = b"".join(
            access(tag=f"(APIServer_{n % 3} pid={n // 1000}) ")
            + (access("/v1/completions") if n % 5 else b"")
            + (header() + access() if n % 7 == 0 else b"")
            + (access("/tokenize") if n % 11 == 0 else b"")
            for n in range(4000)
        )
        assert counted(log, step=step).requests == (("a.log", 4000 + 3200),)


class TestLiterals:
    @pytest.mark.parametrize(
        ("pattern", "literal"),
        [
            (PATTERN, b"mm placeholder mismatch:"),
            (r"grammar failed: request .+ ends with an error \((?P<error>\w+)\)", b"grammar failed: request"),
            (r"cache mismatch: (\d+) rows", b"cache mismatch:"),
            (r"abc|def", b""),
            (r"(abcdef)?ghijk", b"ghijk"),
            (r"abcdefx*y", b"abcdef"),
            (r"abcdefx?", b"abcdef"),
            (r"abcdex{0,3}fghi", b"abcde"),
            (r"abcdex+fghijk", b"abcdex"),
            (r"(?i)abcdef", b""),
            (r"[abc]defghi[]x]jk", b"defghi"),
            (r"\x41bcd\u00e4efghi", b"efghi"),
            (r"say \"hello\" <there>", b"hello"),
            (r"a.b.c", b""),
            (r"(a(b[)]c)\)d)efgh", b"efgh"),
        ],
    )
    def test_are_what_every_match_has(self, pattern: str, literal: bytes) -> None:
        assert required_literal(pattern) == literal

    def test_may_be_missing(self) -> None:
        watch = WATCH._replace(pattern=r"mm (?:placeholder )?.*?(?P<kind>pad|truncate)", literal=b"")
        assert entry(hit() * 3 + access(), watch=watch).lines == 3
        assert entry(b"2026-07-01T04:00:00Z stderr F " + hit(), watch=watch).lines == 1

    def test_every_source_may_write_where_no_diff_says_which(self) -> None:
        open_watch = Watch(id="mm", title="", pattern=PATTERN, literal=WATCH.literal)
        assert entry(hit(file="logger.py"), watch=open_watch).lines == 1
        assert FILES
