"""Units, compose files and manifests give the commands that systemd, compose and Kubernetes would run."""

from __future__ import annotations

import sys

import pytest

from patchctl.launch import ShellError, launches_of
from patchctl.launch.manifest import compose_containers, pod_containers
from patchctl.launch.unit import UnitError, commands_of_unit
from patchctl.launch.yaml_text import YamlError, read_yaml

NOTHING: dict[str, str] = {}


def unit_lines(text: str, files: dict[str, str] | None = None) -> list[str]:
    return [launch.line() for command in commands_of_unit(text, (files or {}).get) for launch in launches_of(command)]


def compose_lines(text: str, files: dict[str, str] | None = None) -> list[str]:
    containers = compose_containers(read_yaml(text, "compose.yaml")[0], (files or {}).get)
    return [launch.line() for it in containers for launch in launches_of(it.command)]


def pod_lines(text: str) -> list[str]:
    return [launch.line() for it in pod_containers(read_yaml(text, "pod.yaml")) for launch in launches_of(it.command)]


class TestAUnit:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("ExecStart=/bin/vllm serve m", "/bin/vllm serve m"),
            ("ExecStart=-@/bin/vllm serve m", "/bin/vllm serve m"),
            (
                "ExecStart=/bin/vllm serve m \\\n  --port 80 \\\n# in between\n  --enforce-eager",
                "/bin/vllm serve m --port 80 --enforce-eager",
            ),
            ("ExecStart=/bin/vllm serve a\nExecStart=\nExecStart=/bin/vllm serve b", "/bin/vllm serve b"),
            ('Environment="A=1 2" B=3\nEnvironment=C=4\nExecStart=vllm serve m', "A='1 2' B=3 C=4 vllm serve m"),
            ("Environment=A=1\nEnvironment=\nExecStart=vllm serve m", "vllm serve m"),
            ("Environment=P=80\nExecStart=vllm serve m --port ${P}", "P=80 vllm serve m --port 80"),
            ('Environment="X=--port 80"\nExecStart=vllm serve m $X', "X='--port 80' vllm serve m --port 80"),
            ("ExecStart=vllm serve m --port ${P}", 'vllm serve m --port "${P}"'),
            ("ExecStart=vllm serve $$m %i", "vllm serve '$m' %i"),
            ('ExecStart=vllm serve "a b" \'c"d\' e\\x41', "vllm serve 'a b' 'c\"d' eA"),
            ('ExecStart=vllm serve m --x \'{"a": "b"}\'', 'vllm serve m --x \'{"a": "b"}\''),
            ("ExecStart=/bin/sh -c 'exec vllm serve m'", "exec vllm serve m"),
            ('ExecStart=vllm serve "`id` ${A} $(b)"', 'vllm serve "\\`id\\` ${A} \\$(b)"'),
        ],
    )
    def test_gives_the_command_that_systemd_would_run(self, text: str, line: str) -> None:
        assert unit_lines(f"[Unit]\nExecStart=vllm serve no\n[Service]\n{text}\n[Install]\n") == [line]

    def test_a_file_of_variables_beats_what_is_written_and_its_values_are_not_shown(self) -> None:
        text = "[Service]\nEnvironment=A=1\nEnvironmentFile=-/etc/e\nExecStart=vllm serve m"
        (command,) = commands_of_unit(text, {"/etc/e": "# c\nA=2\nT='x y'\n"}.get)
        (launch,) = launches_of(command)
        assert (launch.line(), dict(launch.environment)) == ("vllm serve m", {"A": "2", "T": "x y"})

    def test_a_file_that_cannot_be_read_leaves_the_variables_open(self) -> None:
        (command,) = commands_of_unit("[Service]\nEnvironmentFile=/etc/e\nExecStart=vllm serve m", NOTHING.get)
        assert command.open_environment
        assert "/etc/e cannot be read" in command.warnings[0]

    def test_a_quote_that_does_not_end_is_refused(self) -> None:
        with pytest.raises(UnitError):
            unit_lines("[Service]\nExecStart=vllm serve 'm")


class TestACompose:
    @pytest.mark.parametrize(
        ("service", "line"),
        [
            ("command: vllm serve m --port 80", "vllm serve m --port 80"),
            ("command: [vllm, serve, m, --port, 80]", "vllm serve m --port 80"),
            ("command: --model m --port 80", "vllm serve --model m --port 80"),
            ("command: [m, --enforce-eager]", "vllm serve m --enforce-eager"),
            ("entrypoint: [vllm, serve]\n    command: [m]", "vllm serve m"),
            ("entrypoint: sh -c\n    command: ['vllm serve m']", "vllm serve m"),
            ("environment: {A: '1', B: 2}\n    command: vllm serve m", "A=1 B=2 vllm serve m"),
            ("environment: [A=1, B]\n    command: vllm serve m", "A=1 vllm serve m"),
            ("command: vllm serve ${M:-m} --port ${PORT}", 'vllm serve m --port "${PORT}"'),
            ("command: [vllm, serve, m, --api-key, $$K]", "vllm serve m --api-key '$K'"),
            ("command: |\n      vllm serve m\n      --port 80", "vllm serve m --port 80"),
            ("command: [vllm, serve, m, '$M `id`']", 'vllm serve m "${M} \\`id\\`"'),
        ],
    )
    def test_gives_the_command_that_compose_would_run(self, service: str, line: str) -> None:
        assert compose_lines(f"services:\n  llm:\n    {service}\n") == [line]

    def test_merges_and_files_of_variables_count(self) -> None:
        text = (
            "x-a: &a {environment: {A: '1'}, env_file: [a.env, {path: b.env, required: false}]}\n"
            "services: {llm: {<<: *a, command: vllm serve m}}"
        )
        (container,) = compose_containers(read_yaml(text, "c")[0], {"a.env": "A=0\nB=2"}.get)
        (launch,) = launches_of(container.command)
        assert (launch.line(), dict(launch.environment)) == ("A=1 vllm serve m", {"B": "2"})
        assert not launch.open_environment


POD = "{containers: [{name: v, command: [vllm, serve, m]}]}"


class TestAManifest:
    @pytest.mark.parametrize(
        "text",
        [
            f"kind: Pod\nmetadata: {{name: p}}\nspec: {POD}",
            f"kind: Deployment\nspec: {{template: {{spec: {POD}}}}}",
            f"kind: CronJob\nspec: {{jobTemplate: {{spec: {{template: {{spec: {POD}}}}}}}}}",
            f"kind: LeaderWorkerSet\nspec: {{leaderWorkerTemplate: {{leaderTemplate: {{spec: {POD}}}}}}}",
            f"kind: List\nitems: [{{kind: Pod, spec: {POD}}}]",
            f"kind: Service\n---\nkind: Pod\nspec: {POD}\n---\n",
        ],
    )
    def test_has_its_containers_wherever_they_stand(self, text: str) -> None:
        assert pod_lines(text) == ["vllm serve m"]

    @pytest.mark.parametrize(
        ("container", "line"),
        [
            ("args: [--model, m]", "vllm serve --model m"),
            ("env: [{name: A, value: '1'}]\n  args: [m, --port, $(A)]", "A=1 vllm serve m --port 1"),
            ("env: [{name: A, valueFrom: {}}]\n  args: [m, --port, $(A)]", 'vllm serve m --port "${A}"'),
            ("command: [vllm, serve, m, --x, $$(A) $(NO) $A]", "vllm serve m --x '$(A) $(NO) $A'"),
            ("command: [/bin/sh, -c]\n  args: ['exec vllm serve m']", "exec vllm serve m"),
        ],
    )
    def test_gives_the_command_that_kubernetes_would_run(self, container: str, line: str) -> None:
        assert pod_lines(f"containers:\n- name: v\n  {container}\n") == [line]

    def test_a_script_that_runs_commands_is_refused(self) -> None:
        with pytest.raises(ShellError):
            pod_lines("containers: [{name: v, command: [sh, -c, vllm serve $(MODEL)]}]")

    def test_variables_from_elsewhere_leave_them_open(self) -> None:
        (container,) = pod_containers(read_yaml("containers: [{name: v, envFrom: [x], args: [m]}]", "p"))
        assert container.command.open_environment


class TestYaml:
    def test_aliases_that_multiply_are_refused(self) -> None:
        text = "a: &a [x,x]\n" + "".join(
            f"{chr(98 + level)}: &{chr(98 + level)} [{','.join(['*' + chr(97 + level)] * 9)}]\n" for level in range(9)
        )
        with pytest.raises(YamlError, match="comes to too much"):
            read_yaml(text, "bomb")

    def test_merges_that_multiply_are_refused(self) -> None:
        text = "a0: &a0 {k: v}\n" + "".join(
            f"a{level + 1}: &a{level + 1} {{<<: [{', '.join([f'*a{level}'] * 9)}]}}\n" for level in range(9)
        )
        with pytest.raises(YamlError, match="comes to too much"):
            read_yaml(text, "bomb")

    @pytest.mark.parametrize("text", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000 + "a"])
    def test_depth_is_refused(self, text: str) -> None:
        with pytest.raises(YamlError):
            read_yaml(text, "deep")

    def test_something_that_contains_itself_is_refused(self) -> None:
        with pytest.raises(YamlError):
            read_yaml("a: &a [*a]", "loop")

    def test_objects_are_never_made(self) -> None:
        assert read_yaml("!!python/object/apply:os.system [id]", "object") == (["id"],)
        with pytest.raises(YamlError):
            read_yaml("!!python/name:os.system ''", "object")

    def test_a_template_is_told_to_be_rendered(self) -> None:
        with pytest.raises(YamlError) as caught:
            read_yaml("{{ .Values.a }}: b\n- c", "t.yaml")
        assert "helm template" in (caught.value.problem.hint or "")

    def test_without_the_library_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "yaml", None)
        with pytest.raises(YamlError) as caught:
            read_yaml("a: 1", "c.yaml")
        assert "patchctl[yaml]" in (caught.value.problem.hint or "")
