"""What a step hands on, as it is read and bounded (S72, S73)."""

from typing import Any

import pytest

from tickwise.core.errors import InputError
from tickwise.core.references import output_reference
from tickwise.core.step_outputs import (
    MAX_VALUE,
    checked_items,
    item_name,
    item_of,
    kept_outputs,
    printed_outputs,
    returned_outputs,
    size_of,
    written_outputs,
)


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        ("", {}),
        ("no\n", {}),
        ('{"a": 1}', {"a": 1}),
        ('before\n  {"a": {"b": []}}  \n\n', {"a": {"b": []}}),
        ('{"a": 1}\nafter', {}),
        ('{"a": }', {}),
        ("{" * 5_000 + "}", {}),
    ],
)
def test_printed(text: str, outputs: dict[str, Any]) -> None:
    """S72: only a last line that is a JSON object hands something on."""
    assert printed_outputs(text) == outputs


def test_written() -> None:
    """S72: lines NAME=text and JSON objects; a later line goes before an earlier one, empty ones say nothing."""
    assert written_outputs('a=1\n\n b = x=y \n{}\n{"a": 2, "c": null}\n') == {"a": 2, "b": " x=y ", "c": None}


@pytest.mark.parametrize("line", ["=1", "word", "{a: 1}"])
def test_lines_that_hand_nothing_on(line: str) -> None:
    """S72: such a line is refused with its number and its beginning."""
    with pytest.raises(InputError, match=r"line 2 of \$TICKWISE_OUTPUT hands nothing on, it .*: write NAME=text"):
        written_outputs(f"a=1\n{line}")


def test_returned() -> None:
    """S72: a mapping is the outputs; another value is the output `result`, and nothing hands nothing on."""
    assert [returned_outputs(value) for value in (None, {"a": 1}, {}, 3)] == [{}, {"a": 1}, {}, {"result": 3}]


def test_what_is_kept() -> None:
    """S72: values that are too large, or that no store keeps, are left out and named; the others are kept."""
    given = {"a": 1, "big": "x" * MAX_VALUE, "bad": 2**70, "b": [2]}
    kept, problems = kept_outputs(given)
    assert kept == {"a": 1, "b": [2]}
    assert [problem[:60] for problem in problems] == [
        "the output big is not handed on: it has more than 65,536 byt",
        "not handed on: the output bad is an integer beyond 64 bits, ",
    ]
    assert kept_outputs({"a": 1, "b": 2}, room=size_of({"a": 1})) == (
        {"a": 1},
        [("the output b is not handed on: it has more than the 1,048,576 bytes that a run may hand on; "
         "write it to a file and hand on the path")],
    )  # fmt: skip


def test_items() -> None:
    """S73: items are a list, not too long, and none of them is null."""
    assert checked_items((1, "a"), "x") == [1, "a"]
    for value, problem in [
        (None, "x is nothing"), ("a b", "x is a text"), (3, "x is a single value"),
        ([1] * 1_001, "x has 1,001 items"), ([1, None], "x has null at place 1"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=problem):
            checked_items(value, "x")


def test_names_of_items() -> None:
    """S73: the name of an item tells its step and its number."""
    assert item_of(item_name("a.b", 12)) == ("a.b", 12)
    assert item_of("a") is None


def test_references_to_outputs() -> None:
    """S72: names of steps may have dots; an output is what stands behind `outputs`."""
    assert output_reference("steps.a.b.outputs.rows") == ("a.b", "rows")
    assert output_reference("steps.a.rows") is None
