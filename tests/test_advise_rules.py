"""``advise`` on small registries: coverage, sources that cannot be read, secrets, unsafe advice, live processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from patchctl.advice import Coverage
from patchctl.commands import Clock, Place
from patchctl.commands.advise import advise
from patchctl.commands.apply import apply
from patchctl.commands.hardware import surroundings
from patchctl.commands.sources import Wanted
from patchctl.errors import Outcome, PatchctlError, UsageError
from tests.processes_tree import FIRST_PID, NOW, SECOND, ProcTree
from tests.registries import add_entry, make_diff, make_registry
from tests.running import Desk, Done, on_a_terminal, patchctl
from tests.sites import make_site

PATH = "vllm/engine.py"
BASE = b"a = 1\nb = 2\nc = 3\n"
AFTER = BASE.replace(b"b = 2", b"b = 3")
TRIGGER = '\n[[trigger]]\nmodel = ["*bad*"]\nnote = "it breaks"\n'
AVOID = '\n[[avoid]]\nargs = ["--max-num-seqs", "1"]\nwhen = "always"\ncost = "slow"\n'
CLOCK = Clock(now=1_800_000_000, stamp="2027-01-15T08:00:00Z")
BAD = ("--command", "vllm serve org/bad-model")


def make_desk(where: Path, more: str = TRIGGER + AVOID) -> Desk:
    site = make_site(where, {PATH: BASE, "vllm/native.so": b"\x7fELF"}, build="0.25.1")
    registry = make_registry(where / "registry")
    folder = add_entry(registry, "one", make_diff({PATH: (BASE, AFTER)}))
    with (folder / "patch.toml").open("a") as file:
        file.write(more)
    return Desk(site=site, registry=registry)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def only_launch(done: Done) -> dict[str, Any]:
    (found,) = done.document["advice"]["launches"]
    return dict(found)


def only_entry(done: Done) -> dict[str, Any]:
    (found,) = only_launch(done)["entries"]
    return dict(found)


class TestCoverage:
    def test_a_patch_that_is_in_covers_until_it_is_out(self, desk: Desk) -> None:
        assert only_entry(desk.json("advise", *BAD))["coverage"] == "uncovered"
        assert desk.run("apply").code == 0
        done = desk.json("advise", *BAD)
        assert (done.code, only_entry(done)["exposure"], only_entry(done)["coverage"]) == (0, "exposed", "patched")
        assert desk.run("revert", "one").code == 0
        assert desk.json("advise", *BAD).code == 1

    def test_an_edited_patch_covers_nothing(self, desk: Desk) -> None:
        assert desk.run("apply").code == 0
        (desk.site / PATH).write_bytes(BASE + b"# somebody\n")
        assert only_entry(desk.json("advise", *BAD))["coverage"] == "uncovered"

    def test_what_the_launch_avoids_is_covered_however_it_is_written(self, desk: Desk) -> None:
        for line in ("--max-num-seqs 1", "--max_num_seqs=1", "--max-num-seqs 4 --max-num-seqs 1"):
            done = desk.json("advise", "--command", f"vllm serve org/bad {line}")
            assert (done.code, only_entry(done)["coverage"]) == (0, "avoided")
        assert desk.json("advise", "--command", "vllm serve org/bad --max-num-seqs 1 --max-num-seqs 4").code == 1

    def test_an_entry_without_triggers_is_possible(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, AVOID)
        done = desk.json("advise", *BAD)
        assert (done.code, only_entry(done)["exposure"]) == (0, "possible")
        strict = desk.json("advise", "--strict", *BAD)
        assert (strict.code, only_launch(strict)["corrected"]) == (1, "vllm serve org/bad-model --max-num-seqs 1")

    def test_a_bug_of_another_model_is_none(self, desk: Desk) -> None:
        done = desk.json("advise", "--command", "vllm serve org/good")
        assert (done.code, only_entry(done)["coverage"]) == (0, "not-needed")

    def test_two_bugs_get_one_line(self, desk: Desk) -> None:
        assert desk.registry is not None
        folder = add_entry(desk.registry, "two", make_diff({"vllm/native.txt": (b"a\nb\n", b"a\nc\n")}))
        with (folder / "patch.toml").open("a") as file:
            file.write(TRIGGER + '\n[[avoid]]\nenv = {VLLM_X = "a b"}\n')
        done = desk.json("advise", *BAD)
        assert only_launch(done)["corrected"] == "VLLM_X='a b' vllm serve org/bad-model --max-num-seqs 1"
        assert desk.json("advise", "--command", only_launch(done)["corrected"]).code == 0

    def test_build_conditions_hold(self, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, '\n[[trigger]]\nmodel = ["*bad*"]\nversions = "<0.25"\n' + AVOID)
        assert only_entry(desk.json("advise", *BAD))["exposure"] == "not-exposed"


@pytest.mark.attack("hostile-advice")
class TestUnsafeAdvice:
    @pytest.mark.parametrize(
        "avoid",
        [
            'env = {LD_PRELOAD = "/tmp/x.so"}',
            'env = {VLLM_API_KEY = "x"}',
            'remove_args = ["--api-key"]',
            'remove_args = ["--api_key"]',
            'remove_args = ["--ssl-keyf"]',
            'args = ["--trust_remote_code"]',
            'args = ["--max-num-seqs", "1; reboot"]',
            'args = ["--max-num-seqs", "$(reboot)"]',
            'env = {VLLM_X = "`reboot`"}',
        ],
    )
    def test_is_never_made_into_a_command(self, avoid: str, tmp_path: Path) -> None:
        desk = make_desk(tmp_path, f"{TRIGGER}\n[[avoid]]\n{avoid}\n")
        done = desk.json("advise", "--command", "vllm serve org/bad --api-key k --ssl-keyfile f")
        (way,) = only_entry(done)["avoidances"]
        assert (done.code, way["command"], only_launch(done)["corrected"]) == (1, None, None)
        assert way["problem"]
        assert only_launch(done)["remaining"] == ["one"]


@pytest.mark.attack("proc-secrets")
class TestSecrets:
    LINE = (
        "HF_TOKEN=hf_abcdefghijkl MY_PASSWORD='p w' vllm serve org/bad --api-key topsecret1 topsecret2"
        " --hf-token=topsecret3 --kv-transfer-config.auth_token topsecret4"
        ' --otlp-traces-endpoint http://user:topsecret5@host --additional-config \'{"api_key": "topsecret6"}\''
    )

    def test_are_not_shown_and_the_line_can_be_pasted(self, desk: Desk) -> None:
        outputs = [desk.run("advise", "--command", self.LINE), desk.json("advise", "--command", self.LINE)]
        for done in outputs:
            assert "topsecret" not in done.out + done.err
            assert "hf_abc" not in done.out + done.err
            assert "p w" not in done.out + done.err
        corrected = only_launch(outputs[1])["corrected"]
        assert corrected.startswith(
            'HF_TOKEN="$HF_TOKEN" MY_PASSWORD="$MY_PASSWORD" vllm serve org/bad --api-key "$VLLM_API_KEY"'
            ' --hf-token="$HF_TOKEN" --kv-transfer-config.auth_token "$AUTH_TOKEN"'
        )
        assert desk.json("advise", "--command", corrected).code == 0

    def test_of_an_environment_file_are_not_shown(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "env").write_text("API_TOKEN=topsecret\nVLLM_X=1\n")
        unit = tmp_path / "v.service"
        unit.write_text(f"[Service]\nEnvironmentFile={tmp_path}/env\nExecStart=vllm serve bad --x ${{API_TOKEN}}\n")
        for done in (desk.run("advise", "--unit", str(unit)), desk.json("advise", "--unit", str(unit))):
            assert done.code == 1
            assert "topsecret" not in done.out + done.err


class TestTerminal:
    def test_shows_what_is_due_first_and_commands_that_can_be_copied(self, desk: Desk) -> None:
        line = "vllm serve org/bad --served-model-name " + " ".join(f"name-{number}" for number in range(9))
        out = on_a_terminal("advise", "--site", str(desk.site), "--registry", str(desk.registry), "--command", line)
        text = out.decode()
        assert "exposed" in text
        assert "cost" in text
        assert " \\\r\n" in text

    def test_hostile_text_is_escaped(self, desk: Desk) -> None:
        done = desk.run("advise", "--command", "vllm serve 'org/bad\x1b[2J'")
        assert "\x1b" not in done.out + done.err


class TestSources:
    @pytest.mark.parametrize(
        ("arguments", "code", "problem"),
        [
            (("--", "ls", "-l"), 3, "no-launch"),
            (("--", "vllm", "bench", "serve"), 3, "no-launch"),
            (("--command", "vllm serve $(cat m)"), 3, "shell-substitution"),
            (("--unit", "/nowhere"), 3, "unreadable-file"),
            (("--unit", "/dev/zero"), 3, "unreadable-file"),
            (("--service", "x"), 2, "no-compose"),
            (("--container", "x"), 2, "no-manifest"),
            (("--pid", "4194305"), 3, "cannot-inspect"),
        ],
    )
    def test_that_hold_no_launch_are_an_error(
        self, arguments: tuple[str, ...], code: int, problem: str, desk: Desk
    ) -> None:
        done = patchctl("advise", "--site", str(desk.site), "--registry", str(desk.registry), "--json", *arguments)
        assert (done.code, done.document["errors"][0]["code"]) == (code, problem)

    def test_a_service_that_is_not_there_is_told_with_those_that_are(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "c.yaml").write_text("services: {llm: {command: vllm serve m}}")
        done = desk.json("advise", "--compose", str(tmp_path / "c.yaml"), "--service", "web")
        assert (done.code, done.document["errors"][0]["hint"]) == (3, "it has: llm")

    def test_a_container_that_cannot_be_read_does_not_hide_another(self, desk: Desk, tmp_path: Path) -> None:
        (tmp_path / "c.yaml").write_text(
            "services: {a: {entrypoint: [sh, -c, 'vllm serve $$(id)']}, b: {command: vllm serve org/bad}}"
        )
        done = desk.json("advise", "--compose", str(tmp_path / "c.yaml"))
        assert done.code == 1
        assert any(it["code"] == "shell-substitution" for it in done.document["warnings"])

    def test_a_whole_line_in_quotes_is_a_line(self, desk: Desk) -> None:
        arguments = ("--site", str(desk.site), "--registry", str(desk.registry), "--json")
        assert patchctl("advise", *arguments, "--", "VLLM_X=1 vllm serve org/bad").code == 1

    def test_the_options_of_a_command_are_its_own(self, desk: Desk) -> None:
        arguments = ("--site", str(desk.site), "--registry", str(desk.registry), "--json")
        done = patchctl("advise", *arguments, "vllm", "serve", "org/bad", "--max-num-seqs", "1", "-q", "awq")
        assert (done.code, only_entry(done)["coverage"]) == (0, "avoided")

    def test_a_config_file_counts(self, desk: Desk, tmp_path: Path) -> None:
        config = tmp_path / "c.yaml"
        config.write_text("model: org/bad\nmax-num-seqs: 1\n")
        done = desk.json("advise", "--command", f"vllm serve --config {config}")
        assert (done.code, only_entry(done)["coverage"]) == (0, "avoided")
        options = only_launch(done)["launch"]["options"]
        assert [(it["name"], it["origin"]) for it in options] == [
            ("--model", "config"),
            ("--max-num-seqs", "config"),
            ("--config", "command"),
        ]
        joined = desk.json("advise", "--command", f"vllm serve org/bad --config={config}")
        assert joined.code == 1
        assert "two words" in str(joined.document["warnings"])
        gone = desk.json("advise", "--command", "vllm serve --config /nowhere.yaml")
        assert only_entry(gone)["exposure"] == "possible"


class TestProcesses:
    def place(self, desk: Desk, tree: ProcTree) -> Place:
        registries = (str(desk.registry),)
        return Place(
            site=str(desk.site), registries=registries, proc=str(tree.root), boottime_ns=NOW.boottime_ns, cwd="/"
        )

    def test_are_read_with_their_variables_and_nothing_of_them_is_in_the_line(self, desk: Desk, tmp_path: Path) -> None:
        tree = ProcTree(tmp_path / "proc")
        command = ("/v/bin/python", "/v/bin/vllm", "serve", "org/bad", "--api-key", "s3cretvalue", "")
        mapped = desk.site / "vllm/native.so"
        tree.add(FIRST_PID, age=10, mapped=mapped, command=command, environ=b"PATH=/bin\0SECRET_TOKEN=s3cretvalue\0")
        tree.add(FIRST_PID + 1, age=10, mapped=mapped, command=("VLLM::EngineCore",))
        for wanted in (Wanted(pids=(FIRST_PID,)), Wanted(all_running=True)):
            report = advise(self.place(desk, tree), wanted)
            assert report.outcome is Outcome.ATTENTION
            assert report.advice is not None
            (found,) = report.advice.launches
            assert found.corrected is not None
            line = found.corrected.line()
            assert line == '/v/bin/python /v/bin/vllm serve org/bad --api-key "$VLLM_API_KEY" --max-num-seqs 1'
            assert "s3cretvalue" not in repr(report)

    def test_that_run_old_code_are_not_covered_by_a_patch(self, desk: Desk, tmp_path: Path) -> None:
        tree = ProcTree(tmp_path / "proc")
        earlier = self.place(desk, tree)._replace(boottime_ns=NOW.boottime_ns - 5000 * SECOND)
        assert apply(earlier, CLOCK).outcome is Outcome.OK
        mapped = desk.site / "vllm/native.so"
        for pid, age in ((FIRST_PID, 9000), (FIRST_PID + 1, 10)):
            tree.add(pid, age=age, mapped=mapped, command=("vllm", "serve", "org/bad"))
        report = advise(self.place(desk, tree), Wanted(all_running=True))
        assert report.advice is not None
        old, new = report.advice.launches
        assert (old.stale, old.entries[0].coverage) == (True, Coverage.UNCOVERED)
        assert (new.stale, new.entries[0].coverage) == (False, Coverage.PATCHED)
        assert report.outcome is Outcome.ATTENTION
        assert [it.code for it in report.warnings] == ["old-code"]

    def test_that_start_no_server_are_an_error(self, desk: Desk, tmp_path: Path) -> None:
        tree = ProcTree(tmp_path / "proc")
        tree.add(FIRST_PID, age=10, command=("sleep", "1"))
        with pytest.raises(PatchctlError, match="does not start vLLM"):
            advise(self.place(desk, tree), Wanted(pids=(FIRST_PID,)))
        with pytest.raises(PatchctlError, match="no process of this environment"):
            advise(self.place(desk, tree), Wanted(all_running=True))


class TestHardware:
    @pytest.mark.parametrize(
        ("given", "chips"),
        [("sm120", "sm120"), ("SM_90a", "sm90"), ("12.0", "sm120"), ("8.6", "sm86"), ("gfx936", "gfx936")],
    )
    def test_is_called_the_same_however_it_is_written(self, given: str, chips: str) -> None:
        assert surroundings({}, [given]).chips == (chips,)

    @pytest.mark.parametrize(
        ("build", "chips"),
        [("0.20.0+das.dtk2604", ("rocm",)), ("0.22.0+rocm722", ("rocm",)), ("0.20.0+cpu", ("cpu",))],
    )
    def test_is_what_the_build_is_for(self, build: str, chips: tuple[str, ...]) -> None:
        assert surroundings({"vllm": build}, []).chips == chips
        assert surroundings({"vllm": build}, ["sm90"]).chips == ("sm90",)

    def test_that_is_no_name_is_refused(self) -> None:
        with pytest.raises(UsageError):
            surroundings({}, ["a b"])


def test_show_tells_the_triggers(desk: Desk) -> None:
    (shown,) = desk.json("show", "one").document["entries"]
    assert shown["triggers"][0]["model"] == ["*bad*"]
    assert "trigger\tmodel *bad* (it breaks)" in desk.run("show", "one").out
    assert json.dumps(shown["avoid"][0]["hardware"]) == "[]"
