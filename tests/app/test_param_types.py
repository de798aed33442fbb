"""Types of params, and `foreach` over a param (S30, S73)."""

from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.app.definition_fields import fields_of
from tickwise.app.run_params import run_params
from tickwise.core.errors import InputError
from tickwise.sources.spec import read_spec
from tickwise.stores.records import Enqueue

from ..support.app import patiently

FIELDS: dict[str, Any] = {
    "name": "load", "script": "echo $TICKWISE_PARAM_DAY",
    "params": {"limit": 10, "tables": ["a"]},
    "param_types": {"day": "date", "limit": "integer", "tables": "array"},
}  # fmt: skip


async def app_with(fields: dict[str, Any]) -> AsyncTickwise:
    app = AsyncTickwise("memory://", allow_commands=True)
    await (await app.store()).define(read_spec(fields, "load"), "api")
    return app


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "the job load needs a value for day: give it in params"),
        ({"day": "1st of May"}, 'the job load takes a date such as 2027-03-01 as day, and got "1st of May"'),
        ({"day": "20270501"}, "the job load takes a date"),
        ({"day": "2027-05-01", "limit": "10"}, 'the job load takes an integer as limit, and got "10"'),
        ({"day": "2027-05-01", "limit": True}, "the job load takes an integer as limit, and got true"),
        ({"day": "2027-05-01", "tables": "a, b"}, "the job load takes a list as tables"),
        ({"day": "2027-05-01", "lmit": 3}, "has no parameter lmit (did you mean limit?)"),
    ],
)
@patiently
async def test_a_value_of_another_type_is_refused(given: dict[str, Any], problem: str) -> None:
    """S30: where the run is asked for, with what was declared and what was given; and nothing is queued."""
    app = await app_with(FIELDS)
    with pytest.raises(InputError) as refused:
        await app.enqueue("load", given)
    assert problem in str(refused.value)
    assert refused.value.field in {f"params.{name}" for name in ("day", "limit", "tables", "lmit")}
    assert await app.runs.list() == []
    await app.close()


@patiently
async def test_a_value_that_fits() -> None:
    """S30: such a run is queued and gets its params."""
    app = await app_with(FIELDS)
    run = await app.enqueue("load", {"day": "2027-05-01"})
    await app.drain()
    assert await app.runs.logs(run.id) == "2027-05-01\n"
    await app.close()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({**FIELDS, "schedule": "@daily"}, "param_types.day: has no value under params, and slots give none"),
        ({**FIELDS, "params": {"limit": "x", "tables": []}}, "params: the job load takes an integer as limit"),
        ({**FIELDS, "param_types": {"day": "dat"}}, "did you mean date?"),
        ({"name": "load", "schedule": "@daily", "param_types": {"a": "date"}}, "goes with steps or a single"),
        (
            {
                "name": "load", "params": {"tables": "a b"},
                "steps": [{"name": "s", "foreach": "${params.tables}", "command": "true"}],
            },
            "steps.0.foreach: foreach needs a list, and ${params.tables} is a text",
        ),
        (
            {
                "name": "load", "param_types": {"tables": "string"},
                "steps": [{"name": "s", "foreach": "${params.tables}", "command": "true"}],
            },
            "steps.0.foreach: needs a list, and the param tables is declared as string",
        ),
        (
            {"name": "load", "steps": [{"name": "s", "foreach": "${params.tabels}", "command": "true"}]},
            "there is no param tabels",
        ),
    ],
)  # fmt: skip
def test_definitions_that_contradict_themselves(fields: dict[str, Any], problem: str) -> None:
    """S30, S73: they are refused when they are read, at the field."""
    with pytest.raises(InputError) as refused:
        read_spec(fields, "load")
    assert problem in str(refused.value)


@patiently
async def test_foreach_over_a_param() -> None:
    """S73: the items are those that the run was given, else those of the definition; a text fails the step."""
    step = {"name": "copy", "foreach": "${params.tables}", "command": ["echo", "${item}"]}
    app = await app_with({"name": "load", "params": {"tables": ["a", "b"]}, "steps": [step]})
    runs = [(await app.enqueue("load", params)).id for params in (None, {"tables": ["c"]}, {"tables": "d"})]
    await app.drain()
    store = await app.store()
    printed = [{part.text for part in (await store.insights.log(run)).items} for run in runs[:2]]
    assert printed == [{"a\n", "b\n"}, {"c\n"}]
    last = await app.runs.get(runs[2])
    assert (last.state, last.error) == (
        "failed", "foreach needs a list, and ${params.tables} is a text: it takes a JSON list",
    )  # fmt: skip
    await app.close()


@patiently
async def test_types_are_kept_and_shown() -> None:
    """The store gives the types back, an edit has them, and a form is told of them."""
    app = await app_with(FIELDS)
    store = await app.store()
    row = await store.insights.job("load")
    assert row is not None
    assert fields_of(row.definition)["param_types"] == FIELDS["param_types"]
    shown = {param.name: (param.type, param.required) for param in run_params(row.definition)}
    assert shown == {"limit": ("integer", False), "tables": ("array", False), "day": ("date", True)}
    with pytest.raises(InputError, match="needs a value for day"):
        await store.enqueue([Enqueue("load")])
    await app.close()
