"""What happens in the operator's guide besides its commands: the wheels and logs it starts with, and the accidents.

Each scene is a function of the deployment's directory. The guide names it in a comment that no reader sees.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.environments import install_wheel, site_of
from tests.wheels import record_hash, relabelled

LABEL = "+das.dtk2604"
RELEASES = ("0.20.0", "0.24.0", "0.33.0")
DAY = datetime(2026, 7, 1, tzinfo=timezone.utc)
README = """\
# vision, cluster 7

MiniCPM-V 4.6 on eight DCU cards, one vLLM a card, ports 8002 to 8009.
"""
UNIT = """\
[Unit]
Description=vLLM on port %i

[Service]
ExecStart=/srv/vllm/venv/bin/vllm serve /srv/models/MiniCPM-V-4.6 \\
    --port %i --max-num-seqs 4 --trust-remote-code
Restart=on-failure
"""
KILLED = """\
import os, signal, sys
def watch(event, args):
    if event == "os.rename" and str(args[1]).endswith("gpu_model_runner.py"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from patchctl.cli import main
main()
"""


def prepare(root: Path) -> None:
    """Lay out the deployment: the environment with the vendor's build, the later wheels, unit and README."""
    wheels = root / "wheels"
    wheels.mkdir()
    built = [vendor_wheel(release, wheels) for release in RELEASES]
    install_wheel(_environment(root / "venv", pip=True), built[0])
    (root / "README.md").write_text(README, "utf-8")
    (root / "vllm@.service").write_text(UNIT, "utf-8")


def _environment(root: Path, *, pip: bool = False) -> Path:
    subprocess.run([sys.executable, "-m", "venv", *([] if pip else ["--without-pip"]), str(root)], check=True)
    return root


def vendor_wheel(release: str, into: Path) -> Path:
    """Make the files of upstream ``release`` the wheel of a vendor's build; return its path.

    As ``relabelled`` does, and besides ``_version.py`` tells the vendor's build string, as a vendor's own build does,
    and RECORD lists only what is in the slim wheel, so that ``verify`` misses nothing.
    """
    build = release + LABEL
    path = relabelled(release, build, into)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    source = members["vllm/_version.py"].replace(f"'{release}'".encode(), f"'{build}'".encode())
    members["vllm/_version.py"] = source
    record = f"vllm-{build}.dist-info/RECORD"
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for name, *rest in csv.reader(io.StringIO(members[record].decode(), newline="")):
        if name in members:
            changed = [record_hash(source), str(len(source))]
            writer.writerow([name, *(changed if name == "vllm/_version.py" else rest)])
    members[record] = text.getvalue().encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def a_day(root: Path, _: Mapping[str, str]) -> None:
    """Two of the instances serve a day: requests by the hour, and the warnings that the patch writes."""
    (root / "log").mkdir()
    for number, port in enumerate((8002, 8003)):
        file = root / "log" / f"{port}.log"
        file.write_text("".join(f"{line}\n" for line in _lines(number)), "utf-8")
        # vLLM writes no year: it is told by the file's time.
        after = (DAY + timedelta(days=1)).timestamp()
        os.utime(file, (after, after))


def _lines(number: int) -> Iterator[str]:
    server, engine = f"(APIServer pid={4100 + number})", f"(EngineCore pid={4180 + number})"
    for hour in range(24):
        busy = 60 + 40 * min(hour, 23 - hour)
        hits = (hour + number) % 3 if hour != 14 else 11 + number
        for request in range(busy):
            yield f'{server} INFO:     10.7.0.3:{40000 + request} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
            if request < hits:
                moment = DAY + timedelta(hours=hour, seconds=97 * request + 5)
                lacking = 24 if request % 3 else 12 + hour
                yield (
                    f"{engine} WARNING {moment:%m-%d %H:%M:%S} [gpu_model_runner.py:3007] mm placeholder mismatch: pad "
                    f"{327 - lacking} embeddings to 327 placeholders (item at token 14 of request chatcmpl-{request})"
                )


def a_reinstall(root: Path, _: Mapping[str, str]) -> None:
    """Somebody installs the same wheel again."""
    (wheel,) = (root / "wheels").glob("vllm-0.24.0*.whl")
    install_wheel(root / "venv", wheel, reinstall=True)


def a_power_cut(root: Path, environ: Mapping[str, str]) -> None:
    """The machine goes down while ``apply`` puts files into their places."""
    done = subprocess.run([sys.executable, "-c", KILLED, "apply"], env=dict(environ), cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL


def an_edit(root: Path, _: Mapping[str, str]) -> None:
    """A colleague debugs in a patched file, and leaves a line there."""
    file = site_of(root / "venv") / "vllm/model_executor/models/utils.py"
    file.write_bytes(file.read_bytes() + b'\nprint("JUST FOR TONIGHT")\n')


def a_lost_ledger(root: Path, _: Mapping[str, str]) -> None:
    """The environment is copied by a tool that leaves out directories with a dot."""
    shutil.rmtree(site_of(root / "venv") / ".patchctl")


def an_image_build(root: Path, environ: Mapping[str, str]) -> None:
    """The last step of the Dockerfile brings another environment to the same hash as the first one."""
    _, _, step = (root / "Dockerfile").read_text("utf-8").rpartition("\nRUN ")
    (wheel,) = (root / "wheels").glob(f"vllm-{RELEASES[0]}+*.whl")
    install_wheel(_environment(root / "image"), wheel)
    line = step.replace("/srv/vllm/venv", str(root / "image")).replace("/srv/vllm", str(root))
    subprocess.run(["bash", "-c", line], env=dict(environ), cwd=root, check=True, stdout=subprocess.DEVNULL)
    digests = {
        subprocess.check_output(["patchctl", "status", "--digest", "--python", str(root / name)], env=dict(environ))
        for name in ("venv", "image")
    }
    assert len(digests) == 1


def a_start(root: Path, environ: Mapping[str, str]) -> None:
    """Systemd starts an instance: what the drop-in says to run before it must end well."""
    text = (root / "drop-in.conf").read_text("utf-8").replace("/srv/vllm", str(root))
    (line,) = re.findall(r"^ExecStartPre=\S*/(patchctl .*)$", text, re.MULTILINE)
    subprocess.run(["bash", "-c", line], env=dict(environ), cwd=root, check=True)


SCENES: dict[str, Callable[[Path, Mapping[str, str]], None]] = {
    "a day": a_day,
    "a reinstall": a_reinstall,
    "a power cut": a_power_cut,
    "an edit": an_edit,
    "an image build": an_image_build,
    "a lost ledger": a_lost_ledger,
    "a start": a_start,
}
"""Scenes by the name that the guide gives them."""
