"""A smoke test of an installation: `python -m tools.smoke WHEEL` installs it with its dependencies, and uses it.

The wheel goes into a new virtual environment and is used in an empty folder: a program declares, enqueues and runs
a job on SQLite; `tickwise` says its version, makes a folder and serves it.
"""

import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

PROGRAM = """
import os, signal
from tickwise import Tickwise
tw = Tickwise()
ran = []
@tw.job
def greet(name):
    ran.append(name)
    os.kill(os.getpid(), signal.SIGINT)
tw.enqueue(greet, {"name": "Ada"})
tw.run()
print("ran", *ran)
"""
_TIMEOUT = 60  # seconds for an answer


def install(folder: Path, requirements: Sequence[str]) -> Path:
    """A virtual environment with only these requirements and what they need; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    _run([str(python), "-m", "pip", "install", "--quiet", *requirements], folder)
    return python


def check_program(python: Path, folder: Path) -> None:
    """Declare, enqueue and run a job on SQLite."""
    printed = _run([str(python), "-c", PROGRAM], folder)
    if "ran Ada" not in printed:
        raise AssertionError(f"the job did not run:\n{printed}")


def check_commands(python: Path, folder: Path, version: str) -> None:
    """Say the version, make a folder, serve it, and answer."""
    tickwise = str(python.with_name("tickwise"))
    if (said := _run([tickwise, "--version"], folder)) != f"tickwise {version}\n":
        raise AssertionError(f"--version printed {said!r}, and not {version}")
    _run([tickwise, "init", "first"], folder)
    with subprocess.Popen(  # noqa: S603  (the program that was just installed)
        [tickwise, "serve", "jobs", "--port", "0"], cwd=folder / "first", text=True, stdout=subprocess.PIPE
    ) as server:
        try:
            _check_answers(server)
        finally:
            server.terminate()
    if server.returncode != 0:
        raise AssertionError(f"serve ended with {server.returncode}")


def _check_answers(server: "subprocess.Popen[str]") -> None:
    printed = ""
    for line in server.stdout or ():
        printed += line
        if found := re.search(r"Health: (http://\S+)/readyz", line):
            for path, expected in (("/readyz", "ready"), ("/", "<title>Tickwise")):
                with urlopen(found[1] + path, timeout=_TIMEOUT) as answer:  # noqa: S310  (the address it printed)
                    if expected not in (text := answer.read().decode()):
                        raise AssertionError(f"{path} answered {text[:200]!r}")
            return
    raise AssertionError(f"it does not serve:\n{printed}")


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(  # noqa: S603  (commands of this file)
        command, cwd=folder, text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"{command[:3]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    with TemporaryDirectory() as name:
        folder = Path(name)
        python = install(folder / "env", [str(wheel.resolve())])
        check_program(python, folder)
        check_commands(python, folder, version)
    print(f"{wheel.name} can be installed, declares, runs and serves")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
