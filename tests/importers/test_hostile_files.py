"""Whatever a file holds, an importer returns jobs and refusals, and raises nothing."""

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.cli.imported_jobs import build_job_files, job_file_lines
from tickwise.importers.model import ReadOptions
from tickwise.sources.defaults import NO_DEFAULTS

from .support import START
from .test_airflow import DAGS
from .test_apscheduler_code import CODE
from .test_github_actions import WORKFLOW
from .test_kubernetes import MANIFEST
from .test_systemd import SERVICE, TIMER

KINDS = {
    "crontab": ("tab", "A=1\n*/5 3 * * 1-5 cd /srv && ./x --y | z\n@daily a%b\n"),
    "systemd": ("a.timer", TIMER + SERVICE),
    "kubernetes": ("a.yaml", MANIFEST),
    "github_actions": ("a.yml", WORKFLOW),
    "airflow": ("a.py", DAGS),
    "apscheduler_code": ("a.py", CODE),
}
BOMB = "a: &a [x, x]\n" + "".join(
    f"{n}: &{n} [*{p}, *{p}]\n" for p, n in zip("abcdefghijklm", "bcdefghijklmn", strict=True)
)
HOSTILE = [
    "", "\n" * 5_000, "[" * 2_000, "{" * 2_000, "(" * 5_000, "- " * 5_000, "\x00\x01\x02", "\ufeff" + "a: 1",
    BOMB, "a: &a\n  b: *a\n", "kind: CronJob\n", "kind: CronJob\nspec: 7\n", "kind: List\nitems: 3\n",
    "? [a]\n: b\n",
    "on: {schedule: [{cron: 5}, 7, null]}\n", "on: {schedule: [{cron: '* * * * *'}]}\njobs: [1]\n",
    "!!python/object:os.x {}",
    "s.add_job(f, 'cron', hour=" + "(" * 90 + ")" * 90 + ")", "s.add_schedule(f, CronTrigger(hour='9' * 9))",
    "add_job(1, 'interval', days=99999999)", "add_job('a:b', 'date', run_date='9999-99-99')", "add_job(**x)",
    "DAG(schedule='')", "DAG('a', schedule=" + "-" * 5_000 + "1)", "a: 2026-99-99\n",
    "%YAML 9.9\n---\na", "key: 0x\n", "1 " * 9_999,
]  # fmt: skip


def check(kind: str, text: str) -> None:
    name, _ = KINDS[kind]
    found = import_module(f"tickwise.importers.{kind}").read({name: text}, ReadOptions("Europe/Berlin"))
    files, refused = build_job_files(found, NO_DEFAULTS, START, START + 3_600)
    for file in files:
        assert job_file_lines(file, found.scheduler)
    assert all(each.problem and "\n" not in each.problem for each in refused)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts(kind: str, text: str) -> None:
    """Deep nesting, alias bombs, control characters, wrong types and odd numbers."""
    check(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(data=st.data())
def test_nearly_right_texts(kind: str, data: st.DataObject) -> None:
    """A right file that was cut, or of which some characters are others."""
    text = KINDS[kind][1]
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, min(len(text), first + 30)))
    check(kind, text[:first] + data.draw(st.text(max_size=8)) + text[last:])


@pytest.mark.parametrize("kind", KINDS)
def test_half_written_files(kind: str) -> None:
    """Every beginning of a right file."""
    text = KINDS[kind][1]
    for end in range(0, len(text), 97):
        check(kind, text[:end])
