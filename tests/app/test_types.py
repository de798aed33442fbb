"""What a type checker says about code that uses Tickwise."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import tickwise
from tickwise.app.options import AfterFields, JobFields, KeepFields, RetryFields
from tickwise.sources.spec.schema import AfterSpec, JobSpec, KeepSpec, RetrySpec

PROGRAM = """
from datetime import timedelta
from tickwise import AsyncTickwise, EnqueueOptions, JobFields, Run, RunInfo, ScheduleInfo, Tickwise

tw = Tickwise("memory://")

@tw.job
def bare(run: Run) -> None: ...

@tw.job("@daily", retry={"limit": 3, "interval": "30s"}, overlap="queue", pool="process", grace="5m")
async def refresh(table: str = "orders", run: Run | None = None) -> None: ...

@tw.job("@daily", retyr={"limit": 3})  # error: Unexpected keyword argument "retyr"
def misspelled() -> None: ...

@tw.job("@daily", concurency=4)  # error: Unexpected keyword argument "concurency"
def unknown() -> None: ...

@tw.job("@daily", retry={"limits": 3})  # error: No overload variant of "job"
def nested() -> None: ...

@tw.job("@daily", overlap="skp")  # error: No overload variant of "job"
def word() -> None: ...

bare(1)  # error: Argument 1 to "bare"
fields: JobFields = {"schedule": "@daily", "command": "ls"}
options: EnqueueOptions = {"key": "k", "key_ttl": "1h"}
info: ScheduleInfo = tw.schedules.add("a", **fields)
tw.schedules.add("b", schedul="@daily")  # error: Unexpected keyword argument "schedul"
run: RunInfo = tw.enqueue(refresh, {"table": "users"}, **options)
run = tw.enqueue(refresh, priority=5, queue="fast")
made: str = tw.enqueue("refresh", connection=object())
tw.enqueue(refresh, table="users")  # error: Unexpected keyword argument "table"
tw.enqueue(refresh, prority=1)  # error: did you mean "priority"?

async def use(app: AsyncTickwise) -> RunInfo:
    await app.schedules.update("a", catchup="never")  # error: Argument "catchup"
    return await app.enqueue("refresh", at=timedelta(hours=1))
"""


def test_what_mypy_finds(tmp_path: Path) -> None:
    """A misspelled option, field or word is found, and right code passes (A26)."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent"]
    where = {"MYPYPATH": str(Path(tickwise.__file__).parents[1])}
    checked = subprocess.run(
        [*command, "program.py"], cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    found: dict[int, str] = defaultdict(str)
    for line, text in re.findall(r"program\.py:(\d+): error: (.*)", checked.stdout):
        found[int(line)] += text
    expected = {
        number: line.partition("# error: ")[2]
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "# error: " in line
    }
    assert found.keys() == expected.keys(), checked.stdout + checked.stderr
    assert [number for number, text in expected.items() if text not in found[number]] == [], checked.stdout


@pytest.mark.parametrize(
    ("typed", "spec"),
    [(JobFields, JobSpec), (RetryFields, RetrySpec), (KeepFields, KeepSpec), (AfterFields, AfterSpec)],
)
def test_types_have_the_fields_of_a_job_file(typed: type, spec: type[JobSpec]) -> None:
    """What can be written in a file can be given as an argument, and nothing else (A26)."""
    given = {name.removesuffix("_") for name in typed.__annotations__}  # `from_`, since `from` is a word of Python
    assert given == {*spec.fields} - ({"name"} if spec is JobSpec else set())


@pytest.mark.parametrize("name", tickwise.__all__)
def test_public_names(name: str) -> None:
    """Each is there to be imported."""
    assert getattr(tickwise, name).__name__ == name
