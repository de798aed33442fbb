"""What people write down."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tickwise.core.definition import (
    After,
    Command,
    HttpCall,
    JobDefinition,
    Keep,
    Step,
    check_name,
    jobs_needed,
    successes_of_job,
)
from tickwise.core.errors import InputError
from tickwise.core.parameters import Parameters
from tickwise.core.read_only_dict import ReadOnlyDict

from .world import job, schedule


@pytest.mark.parametrize("name", ["a", "0", "etl.stop", "My-Job_2", "x" * 100])
def test_a_name(name: str) -> None:
    """Letters, digits, dots, dashes and underscores, up to a hundred."""
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".etl", "-x", "a b", "ä", "x" * 101, "a\n"])
def test_what_is_no_name(name: str) -> None:
    """The refusal shows the name and says what it was for."""
    with pytest.raises(InputError, match="cannot be a schedule's name: use 1 to 100 letters"):
        check_name(name, "a schedule's name")


CHANGES: list[Callable[[Any], Any]] = [
    lambda env: env.__setitem__("A", "2"),
    lambda env: env.__delitem__("A"),
    lambda env: env.__ior__({"A": "2"}),
    lambda env: env.clear(),
    lambda env: env.pop("A"),
    lambda env: env.popitem(),
    lambda env: env.setdefault("B", "2"),
    lambda env: env.update(A="2"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_mapping_of_a_definition_cannot_be_changed(change: Callable[[Any], Any]) -> None:
    """What people wrote down stays as it is, and so do copies of it; who wants to change it makes a dict."""
    written = ReadOnlyDict(A="1")
    for env in (written, deepcopy(written), pickle.loads(pickle.dumps(written))):  # noqa: S301
        with pytest.raises(TypeError, match="make another one"):
            change(env)
        assert env == {"A": "1"} == dict(env)


def test_a_definition_can_be_copied() -> None:
    """A job can be sent to another process: nothing that it was not given stands in the way."""
    alone = JobDefinition("etl", steps=(Step("fetch", HttpCall("https://example.org")),))
    assert deepcopy(alone) == pickle.loads(pickle.dumps(alone)) == alone  # noqa: S301


@pytest.mark.parametrize(
    ("known", "given", "problem"),
    [
        (None, {"anything"}, None),
        (Parameters(), set(), None),
        (Parameters(("table",)), {"table"}, None),
        (Parameters(("table",)), {"tabel"}, r"the job etl has no parameter tabel \(did you mean table\?\)"),
        (Parameters(), {"x"}, "has no parameter x: it takes none"),
        (Parameters(("table", "day"), ("table",)), {"day"}, "the job etl needs a value for table"),
        (Parameters(takes_any=True), {"x"}, None),
        (Parameters(takes_any=True), {"run"}, "gets `run` from Tickwise"),
    ],
)
def test_params_of_a_run(known: Parameters | None, given: set[str], problem: str | None) -> None:
    """A function takes the params of its signature; while that is not known, any (A18, S30)."""
    etl = replace(job("etl"), steps=(), parameters=known)
    if problem is None:
        etl.check_params(dict.fromkeys(given))
    else:
        with pytest.raises(InputError, match=problem):
            etl.check_params(dict.fromkeys(given))


def test_params_of_steps() -> None:
    """Steps take what the definition declares, and params that it gives itself are not missing (A18)."""
    etl = JobDefinition("etl", steps=(Step("main", Command(("ls",))),), params={"table": "orders"})
    etl.check_params({"table": "users"})
    with pytest.raises(InputError, match="did you mean table"):
        etl.check_params({"tabel": "users"})
    replace(etl, steps=(), parameters=Parameters(("table",), ("table",))).check_params({})


def test_definitions_are_values() -> None:
    """Equal texts make equal definitions, so that the same written again changes nothing (S28)."""
    assert job("etl", "0 * * * *", catchup="all") == job("etl", "0 * * * *", catchup="all")
    assert schedule("etl", "0 * * * *") != schedule("etl", "1 * * * *")
    assert hash(schedule("etl", "0 * * * *")) == hash(schedule("etl", "0 * * * *"))


def test_what_keeps_everything_is_false() -> None:
    """A job without `keep` leaves it to the default of the node (S51)."""
    assert [bool(keep) for keep in (Keep(), Keep(days=1), Keep(runs=0))] == [False, True, True]


def test_what_a_dependency_needs() -> None:
    """S35: a schedule by its name; a job by a name that no schedule can have."""
    needed = [After("a", 60), After("", 60, "a")]
    assert [str(one) for one in needed] == ["a", "job a"]
    assert jobs_needed(one.needed for one in needed) == ["a"]
    assert needed[1].needed == successes_of_job("a")
    with pytest.raises(InputError):
        check_name(needed[1].needed)
