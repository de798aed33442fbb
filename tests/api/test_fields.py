"""A definition, written down again as the fields of a job file, is the same definition."""

from typing import Any

import pytest

from tickwise.app.definition_fields import fields_of, merged
from tickwise.sources.spec import read_spec

STEP = {"name": "a", "command": "echo a"}
SPECS: list[dict[str, Any]] = [
    {"schedule": "0 3 * * *", "command": "echo hi"},
    {"schedule": "H H(1-4) * * *", "timezone": "Europe/Berlin", "python": "shop.jobs:nightly"},
    {"schedule": {"every": "90s", "offset": "30s"}, "script": "set -e\necho hi\n"},
    {"schedule": "@every 5m", "http": "https://example.com/ping"},
    {"schedule": {"at": "2030-03-01T09:00:00"}, "timezone": "Asia/Tokyo", "command": "x", "auto_remove": True},
    {"schedule": [{"at": "2030-03-01T09:00:00Z"}, {"at": "2031-03-01T09:00:00Z"}], "command": "x"},
    {"schedule": ["0 9 * * *", {"cron": "0 H * * *", "timezone": "Asia/Tokyo"}, {"every": "7h"}], "command": "x"},
    {"schedule": {"cron": "0 9 1-7 * MON", "both": True}, "command": "x"},
    {"schedule": ["@DAILY", {"cron": "0 0 9 1 * 1 2027", "both": True, "timezone": "Asia/Tokyo"}], "command": "x"},
    {"schedule": {"template": "nightly"}, "command": "x"},
    {"schedule": {"start": "0 8 * * *", "stop": "0 18 * * *", "restart": "@daily"}, "command": "x"},
    {"schedule": {"stop": {"cron": "0 18 * * *", "timezone": "Asia/Tokyo"}, "start": "0 1 * * *"}, "command": "x"},
    {"schedule": "CRON_TZ=America/New_York 0 3 * * *", "command": "x"},
    {"schedule": "0 3 * * *", "command": "x", "catchup": "all", "catchup_window": "6h", "max_catchup": 10},
    {"schedule": "0 3 * * *", "command": "x", "overlap": "queue"},
    {"schedule": "0 3 * * *", "command": "x", "overlap": "allow", "max_active_runs": 3, "catchup": "all"},
    {"schedule": "0 3 * * *", "command": "x", "overlap": "replace", "catchup": "skip"},
    {"schedule": "0 3 * * *", "command": "x", "catchup_window": 0, "grace": "5m", "jitter": "10m"},
    {"schedule": "0 3 * * *", "command": "x", "from": "2027-01-04", "pause_after": {"failures": 3}},
    {"schedule": "0 3 * * *", "command": "x", "timezone": "Asia/Tokyo", "deadline": {"finish": "06:00"}},
    {"schedule": "0 3 * * *", "command": "x", "deadline": {"finish": "1h", "cancel": True, "warn": 0.25}},
    {"schedule": {"rrule": "FREQ=MONTHLY"}, "timezone": "Asia/Tokyo", "command": "x", "from": "2027-01-04"},
    {"schedule": {"every": "2w", "on": ["MON"], "at": "9:00"}, "command": "x", "from": "2027-01-04"},
    {
        "schedule": [{"every": "1mo", "at": "09:00"}, "@daily", {"rrule": "FREQ=DAILY", "timezone": "Asia/Tokyo"}],
        "command": "x", "from": "2027-01-04T09:00",
    },
    {"schedule": [{"every": "2w", "at": "09:00"}, {"rrule": "FREQ=DAILY"}], "command": "x", "from": "2027-01-04"},
    {"schedule": "0 3 * * *", "command": "x", "until": "2027-12-31", "max_runs": 4, "skip_if_successful": True},
    {"schedule": "0 3 * * *", "command": "x", "after": [{"schedule": "b", "within": "1h"}], "wait_for": "30m"},
    {"schedule": "0 3 * * *", "command": "x", "expires": "1h", "ticking": "local", "queue": "q", "priority": -3},
    {"schedule": "0 3 * * *", "command": "x", "enabled": False, "description": "d", "labels": {"a": "b"}},
    {"schedule": "0 3 * * *", "command": "x", "params": {"n": [1, None, {"k": 2.5}]}, "env": {"A": "1"}},
    {"schedule": "0 3 * * *", "command": "x", "retry": {"limit": 3, "interval": "2h"}, "timeout": "90m"},
    {"schedule": "0 3 * * *", "command": "x", "at_most_once": True, "keep": {"days": 3}},
    {"schedule": "0 3 * * *", "command": "x", "keep": {"runs": 3}, "preconditions": [{"command": "true"}]},
    {"schedule": "0 3 * * *", "command": "x", "preconditions": [{"python": "a:b", "expected": "yes"}]},
    {"schedule": "0 3 * * *", "command": "x", "on": {"failure": "notify failed", "exit": {"python": "a:b"}}},
    {"schedule": "0 3 * * *", "http": {"url": "https://example.com", "method": "POST", "body": "x"}},
    {"schedule": "0 3 * * *", "http": {"url": "https://example.com", "headers": {"A": "b"}}},
    {
        "schedule": "0 3 * * *",
        "steps": [
            STEP,
            {
                "name": "b", "command": ["echo", "a b"], "depends": "a", "env": {"X": "y"}, "dir": "/srv",
                "timeout": "5m", "retry": {"limit": 2}, "continue_on": ["failed", "skipped"],
                "preconditions": [{"command": "true", "expected": "x"}],
            },
        ],
    },
    {"schedule": "0 3 * * *", "steps": [{**STEP, "name": "main", "dir": "/srv"}]},
    {"command": "echo without a schedule"},
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_fields_read_back_as_the_same_definition(spec: dict[str, Any]) -> None:
    """What is stored can be written down and read again without a difference."""
    job = read_spec({"name": "job", **spec}, "test")
    again = read_spec({"name": "job", **fields_of(job)}, "test")
    assert [(one.name, one.times, one.policy, one.kind) for one in again.schedules] == [
        (one.name, one.times, one.policy, one.kind) for one in job.schedules
    ]
    assert fields_of(again) == fields_of(job)
    for name in ("steps", "params", "env", "labels", "retry", "on", "keep", "preconditions", "timeout", "enabled"):
        assert getattr(again, name) == getattr(job, name)


def test_times_of_the_calendar_are_written_as_they_were() -> None:
    """S64: the short form stays short."""
    times = {"every": "3 months", "on": [1, -1], "at": "9:00"}
    job = read_spec({"name": "job", "schedule": times, "command": "x", "from": "2027-01-04"}, "test")
    assert fields_of(job)["schedule"] == times


def test_what_follows_from_something_else_is_not_said() -> None:
    """A field that nobody wrote does not stand in the way of a change."""
    job = read_spec({"name": "job", "schedule": "0 3 * * *", "command": "x", "catchup": "all"}, "test")
    changed = merged(fields_of(job), {"catchup": "once"})
    assert read_spec({"name": "job", **changed}, "test").schedules[0].policy.overlap == "skip"


@pytest.mark.parametrize(
    ("stored", "patch", "result"),
    [
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "x"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
    ],
)
def test_a_patch_is_merged_as_rfc_7396_says(stored: Any, patch: Any, result: Any) -> None:
    """Mappings are merged, null removes, everything else replaces."""
    assert merged(stored, patch) == result
