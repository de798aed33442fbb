"""`tickwise jobs` and `tickwise run`: jobs without a schedule, and files without a store."""

import json
import subprocess
from pathlib import Path

import pytest

from ..support.cli import PROGRAM, Filled
from .conftest import Command

STEPS = """
params: {word: hello}
steps:
  - {name: first, command: 'echo ${params.word}'}
  - {name: second, depends: first, script: 'echo there; test "$TICKWISE_PARAM_WORD" != fail'}
"""


def test_a_job_without_a_schedule_is_seen_and_run(command: Command, filled: Filled) -> None:
    """It is listed as on demand, shown with its params, started by name, and waited for (A28)."""
    (filled.folder.parent / "shop.py").write_text(
        f"from tickwise import Tickwise\ntw = Tickwise({filled.url!r})\n"
        "@tw.job\ndef pack(order: int, gift: bool = False):\n    if order < 0: raise ValueError('no such order')\n"
        "if __name__ == '__main__':\n    tw.jobs.list()\n"
    )
    subprocess.run([PROGRAM[0], "shop.py"], cwd=filled.folder.parent, check=True)
    assert "on demand" in command("jobs", "list")[1]
    assert "order (required), gift" in command("jobs", "show", "pack")[1]
    assert "needs a value for order" in command("run", "pack")[2]
    with subprocess.Popen(
        [*PROGRAM, "worker", "shop:tw", "--port", "0"], cwd=filled.folder.parent, stderr=subprocess.DEVNULL
    ) as worker:
        assert command("run", "pack", "-p", "order=7", "--wait")[0] == 0
        code, out, _ = command("run", "pack", "-p", "order=-7", "--follow", "--json")
        assert (code, json.loads(out)["state"]) == (1, "failed")
        worker.terminate()


@pytest.mark.parametrize(("word", "code", "state"), [("hi", 0, "succeeded"), ("fail", 1, "failed")])
def test_a_file_runs_in_the_foreground(command: Command, tmp_path: Path, word: str, code: int, state: str) -> None:
    """Its log is printed as it comes, then its steps; the exit code tells its end, and no store is left (A28)."""
    (tmp_path / "greet.yaml").write_text(STEPS)
    ended, out, _ = command("run", "greet.yaml", "-p", f"word={word}")
    assert (ended, out.splitlines()[:2], out.splitlines()[-1]) == (
        code, [f"first | {word}", "second | there"], f"greet {state}.",
    )  # fmt: skip
    assert [line.split()[:1] for line in out.splitlines()[3:6]] == [["step"], ["first"], ["second"]]
    assert [path.name for path in tmp_path.iterdir()] == ["greet.yaml"]
    answer = json.loads(command("run", "greet.yaml", "-p", f"word={word}", "--json")[1])
    assert (answer["state"], answer["steps"][0]["state"]) == (state, "succeeded")


def test_files_that_cannot_be_run(command: Command, tmp_path: Path) -> None:
    """Two jobs, a mistake, a misspelled param and an option of a queued run are refused (A28)."""
    (tmp_path / "two.yaml").write_text("name: a\ncommand: ls\n---\nname: b\ncommand: ls\n")
    (tmp_path / "bad.yaml").write_text("comand: ls\n")
    (tmp_path / "good.yaml").write_text("command: ls\n")
    for arguments, problem in (
        ("two.yaml", "has 2 jobs (a, b)"),
        ("bad.yaml", "did you mean command?"),
        ("./none.yaml", "none.yaml"),
        ("good.yaml -p x=1", "has no parameter x"),
        ("good.yaml --queue fast", "runs here and now"),
    ):
        code, out, err = command("run", *arguments.split())
        assert (code, out, problem in err) == (2, "", True), err
