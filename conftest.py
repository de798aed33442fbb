"""The Python and console blocks of README and docs are executed as tests.

A `console` block holds commands after `$ ` and the output they print; `…` in the output stands for anything.
A command whose output ends with a line `^C` runs until it has printed the rest, and is then interrupted as by
Ctrl-C; it has a terminal. A Python block that begins with `# NAME.py` or a path is also saved there, for the
console blocks below it. In docs/start and docs/howto a job file in YAML and settings in TOML must have no mistake.

`TICKWISE_TEST_PROGRAMS` names a folder whose programs the commands use: those of another installation.
"""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from tickwise.config import load
from tickwise.sources.yaml import read_text

ROOT = Path(__file__).parent
_COMMAND = r"^\$ (.+)\n((?:(?!\$ ).*\n?)*)"
_NAMED_FILE = r"^```python\n# ([\w/]+\.py)\n(.*?)^```"
_JOB_FILE = re.compile(r"^(?:schedule|steps|command):", re.MULTILINE)
_STYLED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_CHECKED_FOLDERS = ("start", "howto")
_INTERRUPT = "^C"
_PORT = 8484

settings.register_profile(
    "tickwise",
    deadline=None,
    derandomize="TICKWISE_EXPLORE" not in os.environ,  # the same examples everywhere, unless new ones are wanted
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tickwise")


class ConsoleParser(CodeBlockParser):
    """Runs the commands of a block in the document's folder, with the examples and the files that it shows."""

    language = "console"

    def evaluate(self, example: Example) -> None:
        folder = example.namespace["_folder"].name
        for name, text in re.findall(
            _NAMED_FILE, example.document.text[: example.start], re.MULTILINE | re.DOTALL
        ):
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for command, expected in re.findall(_COMMAND, example.parsed, re.MULTILINE):
            self.check(command, expected.strip(), folder)

    def check(self, command: str, expected: str, folder: str) -> None:
        pattern = ".*".join(re.escape(piece) for piece in expected.removesuffix(_INTERRUPT).strip().split("…"))
        shown = _run(command, folder, until=pattern if expected.endswith(_INTERRUPT) else None)
        if not re.fullmatch(pattern, shown.strip(), re.DOTALL):
            raise AssertionError(f"$ {command}\nprinted\n{shown}\nand not\n{expected}")


def _run(command: str, folder: str, until: str | None) -> str:
    """The output of the command. With `until` it has a terminal, until it has printed that pattern."""
    port = _free_port()
    ours, theirs = pty.openpty() if until is not None else (None, subprocess.PIPE)
    output = ""
    with subprocess.Popen(  # noqa: S602  (the commands are our own documents')
        command, shell=True, cwd=folder, env=_environment(port), text=True, start_new_session=True,
        stdout=theirs, stderr=subprocess.STDOUT if until is None else theirs,
    ) as process:  # fmt: skip
        if ours is not None:
            os.close(theirs)
        for line in process.stdout or _lines(ours):
            output += line.replace(f":{port}/", f":{_PORT}/").rstrip() + "\n"
            if until is not None and re.fullmatch(until, output.strip(), re.DOTALL):
                os.killpg(process.pid, signal.SIGINT)
                process.wait()
                break
    return output


def _lines(terminal: int | None) -> Iterator[str]:
    """What is printed on a terminal, without styles, until its other side is closed."""
    with suppress(OSError), os.fdopen(terminal or 0, encoding="utf-8", newline="\n") as printed:
        for line in printed:
            yield _STYLED.sub("", line)


def _environment(port: int) -> dict[str, str]:
    programs = os.environ.get("TICKWISE_TEST_PROGRAMS", Path(sys.executable).parent)
    return {
        **os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120",
        "TICKWISE_PORT": str(port), "PYTHONUNBUFFERED": "1", "TERM": "xterm",
        "XDG_STATE_HOME": str(Path.cwd() / "state"),
    }  # fmt: skip


def _free_port() -> int:
    """A port for servers of the documents: theirs may be taken on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class FileParser(CodeBlockParser):
    """Reads the job files and the settings of a page for newcomers; other YAML and TOML is left alone."""

    def evaluate(self, example: Example) -> None:
        if Path(example.path).parent.name in _CHECKED_FOLDERS:
            self.check(example.parsed, example.namespace["_folder"].name)


class JobFileParser(FileParser):
    language = "yaml"

    def check(self, text: str, _folder: str) -> None:
        if _JOB_FILE.search(text):
            _, errors = read_text(text, "the page", "job")
            if errors:
                raise AssertionError("\n".join(map(str, errors)))


class SettingsParser(FileParser):
    language = "toml"

    def check(self, text: str, folder: str) -> None:
        if not text.lstrip().startswith("["):
            file = Path(folder) / "settings.toml"
            file.write_text(text, encoding="utf-8")
            load(environ={}, file=file)


def _leave_home(namespace: dict[str, Any]) -> None:
    """Give each document a folder of its own: its blocks may write files."""
    namespace["_home"], namespace["_folder"] = Path.cwd(), TemporaryDirectory()
    (Path(namespace["_folder"].name) / "examples").symlink_to(ROOT / "examples")
    os.chdir(namespace["_folder"].name)


def _come_home(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), ConsoleParser(), JobFileParser(), SettingsParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/howto/*.md", "docs/start/*.md", "docs/explain/*.md"],
    setup=_leave_home,
    teardown=_come_home,
).pytest()
