"""The job files that the README shows."""

import os
import re
import signal
import subprocess
from functools import partial
from pathlib import Path

from tickwise.sources.yaml import read_text

from ..support.cli import PROGRAM

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_first_screen(tmp_path: Path) -> None:
    """In a new folder the first program runs, and beside it the next command finds its schedule (A30)."""
    program, commands = re.findall(r"```(?:python|console)\n(.*?)```", README, re.DOTALL)[:2]
    (tmp_path / "app.py").write_text(program)
    serve, why = (line.removeprefix("$ ").split()[1:] for line in commands.splitlines() if line.startswith("$ "))
    pipe, env = subprocess.PIPE, {**os.environ, "TICKWISE_PORT": "0", "PYTHONUNBUFFERED": "1"}
    tickwise = partial(subprocess.Popen, cwd=tmp_path, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    with tickwise([*PROGRAM, *serve]) as server:
        assert server.stdout
        assert any("hello from slot" in line for line in server.stdout)
        with tickwise([*PROGRAM, *why]) as asked:
            answer, _ = asked.communicate()
        server.send_signal(signal.SIGINT)
        server.communicate()
    assert (asked.returncode, "as app:app has it" in answer) == (0, True), answer


def test_what_the_readme_shows_can_be_used() -> None:
    """Every YAML block of the README is a job without a mistake."""
    blocks = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        jobs, errors = read_text(block, "README.md", "nightly")
        assert (len(jobs), errors) == (1, [])
