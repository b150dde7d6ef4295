"""The main job on a real vendor build of vLLM: ``python -m tests.demo``.

Makes ``demo/venv`` with the files of vLLM 0.20.0 under the build string of a vendor's rebuild, then runs what an
operator runs. Ends with exit code 0 only when every command ended as it should.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.environments import make_environment, without_decisions
from tests.wheels import WheelUnavailableError, relabelled

BUILD = "0.20.0+das.dtk2604"
SCRIPT = (
    ("status", 0),
    ("check", 1),
    ("apply", 0),
    ("check", 0),
    ("apply", 0),
    ("status", 0),
    ("revert --all", 0),
    ("check", 1),
)


def main() -> int:
    """Make the environment, run the commands, and return the exit code."""
    folder = Path("demo").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    print(f"making {folder / 'venv'} with vllm {BUILD} (the files of vllm 0.20.0, downloaded once)", flush=True)
    try:
        wheel = relabelled("0.20.0", BUILD, folder)
    except WheelUnavailableError as error:
        print(f"the wheel cannot be had: {error}", file=sys.stderr)
        return 1
    make_environment(folder / "venv", wheel)
    wheel.unlink()
    environ = without_decisions(os.environ) | {"VIRTUAL_ENV": str(folder / "venv")}
    for line, expected in SCRIPT:
        print(f"\n$ patchctl {line}", flush=True)
        done = subprocess.run([sys.executable, "-m", "patchctl", *shlex.split(line)], env=environ, check=False)
        print(f"(exit code {done.returncode})", flush=True)
        if done.returncode != expected:
            print(f"expected {expected}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
