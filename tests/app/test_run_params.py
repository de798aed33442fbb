"""What a form needs to know of the params of a job."""

from tickwise.app.run_params import RunParam, run_params
from tickwise.core.definition import Command, JobDefinition, Step
from tickwise.core.parameters import Parameters

PARAMS = {"table": "orders", "limit": 10, "share": 0.5, "dry": False, "tags": ["a"], "more": {"a": 1}, "day": None}


def test_types_are_those_of_the_defaults() -> None:
    """As JSON calls them; a boolean is no integer, and null is of any type."""
    found = list(run_params(JobDefinition("a", (Step("s", Command(("true",))),), params=PARAMS)))
    assert [(param.name, param.type) for param in found] == [
        ("table", "string"), ("limit", "integer"), ("share", "number"), ("dry", "boolean"), ("tags", "array"),
        ("more", "object"), ("day", "any"),
    ]  # fmt: skip
    assert {param.name: param.default for param in found} == PARAMS


def test_the_params_of_a_function() -> None:
    """Those that it takes; one that it needs is not required if the job gives it."""
    takes = Parameters(("table", "day", "zone"), ("table", "day"), takes_any=True)
    found = list(run_params(JobDefinition("a", params={"day": "mon", "extra": 1}, parameters=takes)))
    assert found == [
        RunParam("table", "any", None, required=True, secret=False),
        RunParam("day", "string", "mon", required=False, secret=False),
        RunParam("zone", "any", None, required=False, secret=False),
        RunParam("extra", "integer", 1, required=False, secret=False),
    ]
    assert list(run_params(JobDefinition("a"))) == []


def test_secrets_are_not_shown() -> None:
    """Neither the value of a secret's name nor an address with a password; their type is."""
    given = {"api_token": "hunter2", "url": "postgresql://me:hunter2@db/x", "login": {"password": 7}}
    found = list(run_params(JobDefinition("a", (Step("s", Command(("true",))),), params=given)))
    assert [(param.name, param.type, param.default, param.secret) for param in found] == [
        ("api_token", "string", None, True), ("url", "string", None, True), ("login", "object", None, True),
    ]  # fmt: skip
