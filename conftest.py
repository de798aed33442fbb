"""Prose is run: the Python and console blocks of README and docs are executed as tests.

A `console` block holds commands after `$ ` and what they print; `…` in the print stands for anything.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parent
_COMMAND = r"^\$ (.+)\n((?:(?!\$ ).*\n?)*)"

settings.register_profile(
    "tickwise",
    deadline=None,
    derandomize="TICKWISE_EXPLORE" not in os.environ,  # the same examples everywhere, unless one goes looking
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tickwise")


class ConsoleParser(CodeBlockParser):
    """Runs the commands of a block, as a reader would, in a folder that holds only the examples."""

    language = "console"

    def evaluate(self, example: Example) -> None:
        with TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to(ROOT / "examples")
            for command, expected in re.findall(_COMMAND, example.parsed, re.MULTILINE):
                self.compare(command, expected, _run(command, folder))

    def compare(self, command: str, expected: str, shown: str) -> None:
        pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("…"))
        if not re.fullmatch(pattern, shown.strip(), re.DOTALL):
            raise AssertionError(f"$ {command}\nprinted\n{shown}\nand not\n{expected}")


def _run(command: str, folder: str) -> str:
    binaries = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    done = subprocess.run(  # noqa: S602  (the commands are our own documents')
        command, shell=True, cwd=folder, env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return re.sub(r"[ \t]+$", "", done.stdout, flags=re.MULTILINE)


def _leave_home(namespace: dict[str, Any]) -> None:
    """Python blocks may write files: each document has a folder of its own."""
    namespace["_home"], namespace["_folder"] = Path.cwd(), TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def _come_home(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), ConsoleParser(), SkipParser()],
    patterns=["README.md", "docs/*.md"],
    setup=_leave_home,
    teardown=_come_home,
).pytest()
