"""Definitions that are given as values: the same jobs and the same errors as those of a file, without YAML."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tickwise.core.errors import InputError
from tickwise.sources.spec import read_spec
from tickwise.sources.spec.nodes import MAX_DEPTH, MAX_NODES
from tickwise.sources.yaml import read_text

JOB: dict[str, Any] = {"name": "job", "schedule": "0 3 * * *", "command": "ls"}
WRONG: list[dict[str, Any]] = [
    {"schedule": "99 3 * * *"},
    {"schedule": {"corn": "0 3 * * *"}},
    {"schedule": {"evry": "5m"}},
    {"schedule": 5},
    {"schedule": {"start": 5}},
    {"schedule": ["0 3 * * *", {"every": "5m", "offset": "6m"}]},
    {"schedule": ["0 3 * * *"] * 101},
    {"schedule": [None]},
    {"command": 5, "timeout": 90},
    {"command": ["ls", 5, None, True]},
    {"command": []},
    {"retry": {"limt": 3}},
    {"retry": {"limit": 1001, "backoff": 0.5, "jitter": True}},
    {"retry": {"limit": 1, "interval": "1h", "max_interval": "1m"}},
    {"overlap": "skp", "catchup": ["all"], "enabled": "yes"},
    {"labels": {" ": 1}, "env": {"1A": None}, "params": {"a-b": None}},
    {"keep": {"days": 1, "runs": 2}},
    {"keep": {}},
    {"on": {"failure": 5, "exit": {"http": {"method": "GTE", "headers": {"a b": "x\ny"}}}}},
    {"steps": [{"name": "a", "command": "ls", "depends": ["b"]}, {"name": "a"}]},
    {"steps": []},
    {"comand": "ls", "zzz": {"a": [1]}, "description": "x" * 10_001},
    {"description": "a\0b", "labels": {"\ud800": "x"}},
    {"until": "2027-13-01", "timezone": "Europe/Berln", "queue": "a b"},
    {"priority": 10**400},
    {"env": {"A": "${params.b}"}, "params": {"a": None}},
    {f"field{n}": n for n in range(150)},
]


def errors_in_file(fields: dict[str, Any]) -> list[str]:
    _, errors = read_text(json.dumps(fields, indent=1), "here", "job")
    return [": ".join(part for part in ("here", error.field, error.problem) if part) for error in errors]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: next(iter(wrong)))
def test_values_get_the_errors_of_a_file(wrong: dict[str, Any]) -> None:
    """All errors at once, in the order of the fields, in the same words."""
    expected = errors_in_file({**JOB, **wrong})
    with pytest.raises(InputError) as refused:
        read_spec({**JOB, **wrong}, "here")
    assert str(refused.value) == "\n".join(expected)
    assert expected


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"params": {"a": [float("nan")]}}, "Out of range float values are not JSON compliant"),
        ({"params": {"a": {1, 2}}}, "set cannot stand in a definition"),
        ({"params": {"a": {1: "x", "1": "y"}}}, "'1' is given twice: as a text and as another value"),
        ({"description": "x" * (1 << 20)}, "larger than 1 MiB"),
    ],
)
def test_values_that_are_no_json(fields: dict[str, Any], problem: str) -> None:
    """What no job file could hold is refused, with the place."""
    with pytest.raises(InputError) as refused:
        read_spec({**JOB, **fields}, "here")
    assert str(refused.value).startswith(f"here: {problem}")


def test_values_that_refer_to_themselves() -> None:
    """A list that contains itself is refused."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError, match="Circular reference"):
        read_spec({**JOB, "params": {"a": endless}}, "here")


def test_too_many_values() -> None:
    """Values are bounded in number, as those of a file are."""
    with pytest.raises(InputError, match=f"more than {MAX_NODES:,} values"):
        read_spec({**JOB, "params": {"a": [0] * MAX_NODES}}, "here")


def test_values_that_are_too_deep() -> None:
    """Values are bounded in depth, as those of a file are."""
    deep: Any = 0
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(InputError, match=f"nested deeper than {MAX_DEPTH} levels"):
        read_spec({**JOB, "params": {"a": deep}}, "here")
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="here: "):
        read_spec({**JOB, "params": {"a": deep}}, "here")


def test_times_are_datetimes_and_durations_timedeltas() -> None:
    """Python's own values of time stand for their texts; a fraction of a second is rounded up."""
    at = datetime(2027, 3, 1, 9, 0, 0, 500_000, tzinfo=UTC)
    given = read_spec({**JOB, "schedule": {"at": at}, "timeout": timedelta(minutes=5)}, "here")
    written = read_spec({**JOB, "schedule": {"at": "2027-03-01T09:00:01Z"}, "timeout": "5m"}, "here")
    assert (given.schedules[0].times, given.timeout) == (written.schedules[0].times, written.timeout)


def test_a_long_text_has_no_lines_to_be_too_long() -> None:
    """The limit on the length of a line is one of files."""
    script = "echo\n" * 10_000
    job = read_spec({"name": "job", "script": script}, "here")
    assert job.steps[0].action.text == script  # type: ignore[union-attr]
