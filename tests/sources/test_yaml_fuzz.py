"""Job files: whatever the text, the reader returns definitions or errors; it never raises and never hangs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tickwise.sources.yaml import DefinitionError, LocatedJob, json_schema, read_text

ROOT = Path(__file__).parents[2]
EXAMPLES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "jobs").glob("*.yaml"))]
ETL = (ROOT / "examples" / "jobs" / "etl.yaml").read_text(encoding="utf-8")
PLAIN: list[dict[str, Any]] = [
    json.loads(json.dumps(YAML(typ="safe", pure=True).load(text), default=str)) for text in EXAMPLES
]
FIELDS = sorted(
    {field for part in [json_schema(), *json_schema()["$defs"].values()] for field in part.get("properties", ())}
)


def survives(text: str) -> tuple[list[LocatedJob], list[DefinitionError]]:
    """Read a text and check that what comes back can be used: never nothing, and places that exist."""
    found, errors = read_text(text, "a.yaml", "a")
    assert found or errors
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for error in errors:
        assert isinstance(error, DefinitionError)
        str(error).encode("utf-8")
        if error.line is not None and error.column is not None:
            assert 1 <= error.line <= len(lines)
            assert error.column >= 1
    for located in found:
        assert 1 <= located.line <= len(lines)
        hash(located.job.schedules)
    return found, errors


SCRAPS = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="\n\t :-?,[]{}#&*!|>'\"%@`~<=.0aH/", max_size=20),
    st.sampled_from([f"{field}: " for field in FIELDS]),
    st.sampled_from(
        ["---\n", "...\n", "&a ", "*a ", "<<: *a", "!!str ", "|\n", ">-\n", "\\", "\0", "\ud800", "\x85", "\u2028"]
    ),
)


@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 40), SCRAPS), min_size=1, max_size=4),
)
def test_text_with_pieces_replaced(text: str, edits: list[tuple[int, int, str]]) -> None:
    """An example with pieces cut out and others put in is read or refused."""
    for at, length, scrap in edits:
        text = text[:at] + scrap + text[at + length :]
    survives(text)


@given(st.lists(SCRAPS, max_size=30).map("".join))
def test_text_of_scraps(text: str) -> None:
    """A text of YAML's signs and our words in any order is read or refused."""
    survives(text)


@given(
    st.sampled_from(EXAMPLES), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=5)
)
def test_lines_moved_and_doubled(text: str, moves: list[tuple[int, int]]) -> None:
    """An example with lines doubled into other places is read or refused."""
    lines = text.splitlines()
    for source, target in moves:
        lines.insert(target % len(lines), lines[source % len(lines)])
    survives("\n".join(lines))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
    | st.sampled_from(["5m", "@daily", "0 3 * * *", "all", "a", "2026-01-01", "2026-01-01T00:00Z", "UTC", "m:f"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a value with each of its keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in [(value, key), *places(item)]]


@given(st.data())
def test_values_replaced_and_removed(data: st.DataObject) -> None:
    """An example with values replaced by others, fields removed and fields added is read or refused."""
    document = json.loads(json.dumps(data.draw(st.sampled_from(PLAIN))))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(document) or [(document, "name")]))
        if isinstance(container, dict) and data.draw(st.booleans()):
            container.pop(key, None)
            key = data.draw(st.sampled_from(FIELDS))
        container[key] = data.draw(VALUES)
    survives(json.dumps(document))


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
def test_fields_with_any_value(document: dict[str, Any]) -> None:
    """Known fields with values of any kind are read or refused."""
    survives(json.dumps(document))


def test_every_prefix_of_a_file() -> None:
    """A half-written file gives errors or valid definitions, at whichever character it ends."""
    assert sum(bool(survives(ETL[:end])[0]) for end in range(len(ETL) + 1)) > 100


def laughs(levels: int) -> str:
    """Each level names the one before nine times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


BOMBS: dict[str, tuple[Callable[[], str], str]] = {
    "a scalar of 10 MB": (lambda: f"description: {'x' * 10_000_000}", "larger than 1 MiB"),
    "a long line": (lambda: f"description: {'x' * 500_000}", "a line of more than 32,768 characters"),
    "a long text": (lambda: "description: |\n" + "  x\n" * 200_000, "more than 10000 characters"),
    "brackets": (lambda: "params: {a: " + "[\n" * 100_000, "nested deeper than 32 levels"),
    "braces": (lambda: "params: " + "{a: " * 5_000, "nested deeper than 32 levels"),
    "indents": (lambda: "\n".join(" " * i + "a:" for i in range(500)), "nested deeper than 32 levels"),
    "dashes": (lambda: "- " * 10_000, "nested deeper than 32 levels"),
    "keys of keys": (lambda: "? " * 10_000, "a key must be a text"),
    "numbers as keys": (lambda: "{1: " * 5_000, "nested deeper than 32 levels"),
    "a billion laughs": (lambda: laughs(9), "more than 20,000 values"),
    "laughs in depth": (
        lambda: "\n".join(["a0: &a0 x", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 40))]),
        "nested deeper than 32 levels",
    ),
    "aliases": (lambda: "env: &a {}\nparams:\n" + "  - *a\n" * 5_000, "more than 1,000 aliases"),
    "merges": (
        lambda: (
            "env: &a {\n" + "".join(f"k{i}: x,\n" for i in range(900)) + "}\nparams:\n" + "  - {<<: *a}\n" * 900
        ),
        "more than 20,000 values",
    ),
    "fields": (lambda: "".join(f"k{i}: x\n" for i in range(30_000)), "more than 20,000 values"),
    "documents": (lambda: "---\nname: a\n" * 1_000, "more than 200 documents"),
    "fat documents": (lambda: ("---\nname: a\n" + "foo: 1\n" * 500) * 150, "more than 20,000 values"),
    "steps": (lambda: "steps:\n" + "- {name: a, command: x}\n" * 2_000, "more than 1000 entries"),
    "unknown steps": (
        lambda: "steps:\n" + "".join(f"- {{name: a{i}, script: x, depends: b{i}}}\n" for i in range(900)),
        "there is no step b0",
    ),
    "a long circle": (
        lambda: (
            "steps:\n" + "".join(f"- {{name: a{i}, script: x, depends: a{(i + 1) % 900}}}\n" for i in range(900))
        ),
        "a0 before a899 before a898",
    ),
    "entries": (lambda: "schedule:\n" + "- '@daily'\n" * 2_000, "more than 100 entries"),
    "a long cron text": (lambda: f"schedule: {'1,' * 5_000}1 * * * *", "at most 1000 characters"),
    "a long duration": (lambda: f"timeout: {'9' * 5_000}s", "is not a duration"),
    "a long number": (lambda: f"params: {{a: {'9' * 30_000}}}", "a number this long"),
    "a long tag": (lambda: f"params: !{'x' * 30_000} a", "has no meaning here"),
    "a long anchor": (lambda: f"params: *{'x' * 30_000}", "no anchor"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name: str) -> None:
    """What would take all memory or time is refused with an error, and its message stays short."""
    make, piece = BOMBS[name]
    found, errors = survives(make())
    assert not found
    assert any(piece in str(error) for error in errors)
    assert all(len(str(error)) < 1_000 for error in errors)
