"""The JSON Schema, the examples and the reference say the same as the reader."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tickwise.sources.defaults import Defaults
from tickwise.sources.yaml import BUILT_IN, json_schema, read_path, read_text

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
PUBLISHED = ROOT / "docs" / "job.schema.json"
REFERENCE = (ROOT / "docs" / "yaml.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples" / "jobs").glob("*.yaml"))
DOCUMENTED = re.findall(r"^```yaml\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL)
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
UPDATE = "tickwise schema > docs/job.schema.json"


class AnyOptions:
    """An engine that lets a job say anything."""

    def check(self, options: Any, *, at_most_once: bool) -> None:
        pass


def documents(text: str) -> list[Any]:
    """The plain values of a text, read by ruamel.yaml alone; dates are text, as editors see them."""
    found = list(YAML(typ="safe", pure=True).load_all(text))
    return [json.loads(json.dumps(value, default=date.isoformat)) for value in found if value is not None]


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value fits as much of JSON Schema as ours uses."""
    if "$ref" in schema:
        target = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return fits(value, {**target, **{key: rest for key, rest in schema.items() if key != "$ref"}})
    checks = (_fits_type, _fits_limits, _fits_object, _fits_choices)
    return all(check(value, schema) for check in checks)


def _fits_type(value: Any, schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    if kind is not None and (
        not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")
    ):
        return False
    return value in schema.get("enum", [value]) and value == schema.get("const", value)


def _fits_limits(value: Any, schema: dict[str, Any]) -> bool:
    if isinstance(value, str):
        long_enough = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return long_enough and bool(re.search(schema.get("pattern", ""), value))
    if isinstance(value, list):
        few = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return few and all(fits(item, schema.get("items", {})) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def _fits_object(value: Any, schema: dict[str, Any]) -> bool:
    if not isinstance(value, dict):
        return True
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not set(schema.get("required", ())) <= set(value) or (others is False and not set(value) <= set(known)):
        return False
    return all(
        fits(item, known.get(key, others if isinstance(others, dict) else {})) for key, item in value.items()
    )


def _fits_choices(value: Any, schema: dict[str, Any]) -> bool:
    one, some = schema.get("oneOf"), schema.get("anyOf")
    return (one is None or sum(fits(value, s) for s in one) == 1) and (
        some is None or any(fits(value, s) for s in some)
    )


def parts() -> list[tuple[str, dict[str, Any]]]:
    return [("job", SCHEMA), *((name, part) for name, part in SCHEMA["$defs"].items() if "properties" in part)]


def test_the_published_schema_is_up_to_date() -> None:
    """docs/job.schema.json is what json_schema() says."""
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == SCHEMA, (
        f"out of date; write it again with\n{UPDATE}"
    )


def test_the_schema_is_closed_and_explains_itself() -> None:
    """Unknown fields are refused everywhere, and every field has a description of one line and an example."""
    assert SCHEMA["$schema"].endswith("2020-12/schema")
    for name, part in parts():
        assert part["additionalProperties"] is False, name
        for field, about in part["properties"].items():
            assert about["description"].endswith("."), (name, field)
            assert "\n" not in about["description"], (name, field)
            assert about["examples"], (name, field)


def test_the_examples_in_the_schema_fit_it() -> None:
    """What an editor offers as an example is right."""
    for name, part in parts():
        for field, about in part["properties"].items():
            for example in about["examples"]:
                assert fits(example, about), (name, field, example)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_valid_short_and_fits_the_schema(path: Path) -> None:
    """Each example file gives one job, explains itself in at most 30 lines, and pleases editors."""
    text = path.read_text(encoding="utf-8")
    found, errors = read_text(text, path.name, path.stem)
    assert not errors
    assert [located.job.name for located in found] == [path.stem]
    assert len(text.splitlines()) <= 30
    assert text.startswith("# ")
    assert all(fits(document, SCHEMA) for document in documents(text))


def test_the_examples_stand_side_by_side() -> None:
    """The folder of examples loads as a whole, all five of them."""
    loaded = read_path(ROOT / "examples" / "jobs")
    assert not loaded.errors
    assert len(loaded.jobs) == 5


@pytest.mark.parametrize("text", DOCUMENTED, ids=range(len(DOCUMENTED)))
def test_an_example_of_the_reference(text: str) -> None:
    """Each example in docs/yaml.md is valid, and pleases editors."""
    found, errors = read_text(text, "docs/yaml.md", "reports", Defaults(engines={"celery": AnyOptions()}))
    assert not errors
    assert len(found) == len(documents(text))
    assert all(fits(document, SCHEMA) for document in documents(text))


def test_the_errors_in_the_reference() -> None:
    """The errors that docs/yaml.md shows read as the reader tells them."""
    text = 'name: etl\n\nschedule: "0 25 * * *"\ncatchup: all\noverlapp: queue\n'
    _, errors = read_text(text, "jobs/etl.yaml", "etl")
    assert "\n".join(map(str, errors)) in REFERENCE


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in keys_of(item)}
    return {key for item in value for key in keys_of(item)} if isinstance(value, list) else set()


def test_the_reference_tells_of_every_field_and_template() -> None:
    """Every field of every part is told of and stands in an example; every template is listed."""
    fields = {field for _, part in parts() for field in part["properties"]}
    assert not {field for field in fields if f"`{field}`" not in REFERENCE and f"{{{field}:" not in REFERENCE}
    shown = {key for text in DOCUMENTED for document in documents(text) for key in keys_of(document)}
    assert not fields - shown
    assert not {name for name in BUILT_IN if f"`{name}`" not in REFERENCE}


@pytest.mark.parametrize(
    "text",
    [
        "foo: 1",
        "enabled: 'yes'",
        "timeout: 90",
        "timeout: 0s",
        "catchup: sometimes",
        "catchup_window: 1",
        "max_runs: 0",
        "max_runs: true",
        "schedule: 5",
        "schedule: {cron: a, every: 5m}",
        "steps: []",
        "steps: [{name: a}]",
        "keep: {days: 1, runs: 1}",
        "on: {exit: {}}",
        "retry: {interval: 5s}",
        "env: {A: 5}",
        "name: -x",
        "catchup: null",
    ],
)
def test_what_the_schema_refuses_is_refused(text: str) -> None:
    """An editor's red line is never a false alarm: the reader refuses the same."""
    assert not fits(documents(text)[0], SCHEMA)
    assert read_text(text, "a.yaml", "a")[1]
