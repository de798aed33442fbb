"""Payloads and free texts: what can be kept comes back as it was, the rest is refused with a way out."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import repeat
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.errors import InputError, TickwiseError
from tickwise.core.payload import (
    MAX_PAYLOAD,
    check_text,
    clip,
    decode,
    encode,
    encode_again,
    error_line,
    first_line,
    shown,
    shown_params,
    telling_line,
)

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(LETTERS, max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
ANY_TEXT = st.text(st.characters() | st.sampled_from("\0\ud800\udfff"), max_size=60)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def containing_itself() -> dict[str, Any]:
    value: dict[str, Any] = {"rows": [1]}
    value["rows"].append(value)
    return value


def doubled(levels: int) -> list[Any]:
    """A value of few objects that names 2**levels."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value, value]
    return value


class Endless(list[str]):
    """A list that never ends."""

    def __iter__(self) -> Iterator[str]:
        return repeat("x")


class Colour(StrEnum):
    RED = "red"


@given(VALUES)
def test_what_is_kept_comes_back(value: Any) -> None:
    """A payload of JSON's own values reads back equal, from compact text."""
    text = encode(value, "params")
    assert decode(text) == value
    assert encode_again(decode(text)) == text
    assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": {"d": 2, "c": 3}}, '{"b":1,"a":{"d":2,"c":3}}'),
        ((1, (2,)), "[1,[2]]"),
        (MappingProxyType({"a": MappingProxyType({"b": 1})}), '{"a":{"b":1}}'),
        ({Colour.RED: Colour.RED}, '{"red":"red"}'),
        ("ä\u2028😀", '"ä\u2028😀"'),
        ([2**63 - 1, -(2**63)], "[9223372036854775807,-9223372036854775808]"),
        (True, "true"),
    ],
)
def test_how_it_is_written(value: Any, text: str) -> None:
    """Keys keep their order, tuples become lists, frozen mappings objects, and letters stay letters."""
    assert encode(value, "params") == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"table": [0, 1, 2, {1}]}, r"params\.table\[3\] is of type set, .*: pass a sorted list"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, r"params\.at is of type datetime, .*: pass its isoformat\(\)"),
        ([date(2026, 1, 1)], r"params\[0\] is of type date, .*isoformat"),
        ([time(9)], r"params\[0\] is of type time, .*isoformat"),
        ([timedelta(1)], r"params\[0\] is of type timedelta, .*total_seconds"),
        ([b"x"], r"params\[0\] is of type bytes, .*base64"),
        (Decimal(1), r"params is of type Decimal, .*: pass None, bool, int, float, str, and lists and dicts"),
        (iter([1]), "params is of type list_iterator"),
        ({"a": {1: 2}}, r"params\.a has a key of type int: .*use str"),
        ({"a": {10**5000: 2}}, r"params\.a has a key of type int"),
        ({"a": {None: 2}}, r"params\.a has a key of type NoneType"),
        ({"two words": object()}, r"params\['two words'\] is of type object"),
        ({"a": float("nan")}, r"params\.a is nan, which JSON does not have"),
        ([float("-inf")], r"params\[0\] is -inf"),
        ([2**63], r"params\[0\] is an integer beyond 64 bits, .*: pass it as text"),
        ([-(2**63) - 1], r"params\[0\] is an integer beyond"),
        ([10**5000], r"params\[0\] is an integer beyond"),
        (["ab\0"], r"params\[0\] holds a NUL character at position 2: .*remove it"),
        ({"a\0": 1}, r"params\['a\\x00'\] holds a NUL character at position 1"),
        (["\udcff"], r"params\[0\] holds half a surrogate pair \(U\+DCFF\) at position 0"),
        ("\ud83d\ude00", r"params holds half a surrogate pair \(U\+D83D\)"),
    ],
)
def test_what_cannot_be_kept(value: Any, message: str) -> None:
    """A refusal names the place inside the value and what to pass instead."""
    with pytest.raises(InputError, match=f"^{message}"):
        encode(value, "params")


BOMBS: dict[str, tuple[Callable[[], Any], str]] = {
    "too deep": (lambda: nested(51), "nested deeper than 50 levels"),
    "very deep": (lambda: nested(100_000), "nested deeper than 50 levels"),
    "contains itself": (containing_itself, r"does it contain itself\?"),
    "few objects, many values": (lambda: doubled(49), "exceeds the limit of 1 MiB"),
    "endless": (Endless, "exceeds the limit of 1 MiB"),
    "a long text": (lambda: {"blob": "x" * 10_000_000}, r"params\.blob exceeds the limit .*: keep large data"),
    "a long key": (lambda: {"x" * 10_000_000: 1}, "exceeds the limit"),
    "many values": (lambda: [0] * 10_000_000, r"params\[\d+\] exceeds the limit"),
    "letters of two bytes": (lambda: "ä" * 600_000, "params exceeds the limit"),
    "letters to be escaped": (lambda: "\x01" * 300_000, "params exceeds the limit"),
    "one byte too many": (lambda: "x" * (MAX_PAYLOAD - 1), "params exceeds the limit"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bounds(name: str) -> None:
    """What is too deep, too large or endless is refused with a message of bounded length."""
    make, message = BOMBS[name]
    with pytest.raises(InputError, match=message) as refused:
        encode(make(), "params")
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "value",
    [nested(50), "x" * (MAX_PAYLOAD - 2), [[7]] * ((MAX_PAYLOAD - 1) // 4), {"a": "ä" * ((MAX_PAYLOAD - 8) // 2)}],
    ids=["depth", "text", "values", "bytes"],
)
def test_up_to_the_bounds(value: Any) -> None:
    """What just fits is kept."""
    text = encode(value, "params")
    assert decode(text) == value


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "NaN", "[-Infinity]", "[" * 100_000, "1" * 5_000, "\ufeff1", "1 2"]
)
def test_unreadable_text(text: str) -> None:
    """A text that `encode` never wrote is an error of ours, of one kind."""
    with pytest.raises(TickwiseError, match="a stored value cannot be read as JSON: "):
        decode(text)


def test_what_people_are_shown() -> None:
    """A stored value as it is, or the words why it cannot be read; params are a mapping in any case."""
    assert (shown(None), shown("[1]"), shown_params(None), shown_params('{"a":1}')) == (None, [1], None, {"a": 1})
    assert "cannot be read as JSON" in shown("{")
    assert [list(shown_params(text) or ()) for text in ("{", "7", "[]")] == [["unreadable"]] * 3


def test_a_text_is_checked() -> None:
    """A reason or a person's name is itself if it can be kept."""
    assert check_text("nightly repair, ask Zoë 😀", "the reason", 100) == "nightly repair, ask Zoë 😀"
    assert check_text("x" * 100, "the reason", 100) == "x" * 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 101, "the reason has 101 characters, and at most 100 are kept: shorten it"),
        ("a\0", "the reason holds a NUL character at position 1"),
        ("\udc80", r"the reason holds half a surrogate pair \(U\+DC80\) at position 0"),
        (None, "the reason must be text, not NoneType"),
    ],
)
def test_a_text_that_cannot_be_kept(text: Any, message: str) -> None:
    """The refusal says what it was for and what is wrong with it."""
    with pytest.raises(InputError, match=f"^{message}"):
        check_text(text, "the reason", 100)


@given(ANY_TEXT, st.integers(0, 80))
def test_any_text_can_be_clipped(text: str, most: int) -> None:
    """An error or a log is never refused: it is made storable, at most so long, and left alone if it is fine."""
    clipped = clip(text, most)
    assert check_text(clipped, "it", most) is clipped
    if len(text) <= most:
        assert clipped == text.replace("\0", "␀") or "�" in clipped
        assert len(clipped) == len(text)


def test_a_clipped_text_shows_its_head_and_tail() -> None:
    """What is left out of the middle is counted."""
    text = "Traceback" + "." * 1_981 + "ValueError"
    clipped = clip(text, 100)
    found = re.fullmatch(r"(Traceback\.+)… ([\d,]+) characters left out …(\.+ValueError)", clipped)
    assert found
    assert len(found[1]) + int(found[2].replace(",", "")) + len(found[3]) == len(text) == 2_000
    assert len(clipped) == 100


@pytest.mark.parametrize(("text", "shown"), [("a\0b", "a␀b"), ("\udcff\ud83d", "��"), ("", "")])
def test_what_cannot_be_kept_is_shown(text: str, shown: str) -> None:
    """NUL and halves of surrogate pairs are replaced, one sign for each."""
    assert clip(text, 10) == shown


def test_an_error_in_one_line() -> None:
    """A21: its first line, of bounded length."""
    assert first_line("\nValueError: no\nTraceback\nsecond line") == "ValueError: no"
    assert (first_line("x" * 300), first_line("abc", 2), first_line("")) == ("x" * 200, "ab", "")


def test_an_exit_code_is_told_after_what_was_printed() -> None:
    """Of a traceback, the exception is what was printed; anything else is told by its first line."""
    assert error_line("exit code 1") == telling_line("exit code 1") == "exit code 1"
    assert error_line("step load: exit code 2\n\nno such table\nmore") == "no such table · step load: exit code 2"
    frames = 'Traceback (most recent call last):\n  File "a.py", line 1\n\traise\nKeyError: 7'
    assert error_line(f"exit code 1\n{frames}") == "KeyError: 7 · exit code 1"
    assert error_line("ended by SIGKILL\nTraceback (most") == "ended by SIGKILL"
    assert error_line("ValueError: no\nmore") == telling_line("ValueError: no\nmore") == "ValueError: no"
    assert (error_line("exit code 1\nabc", 5), telling_line("exit code 1\nabcdef", 4)) == ("abc ·"[:5], "abcd")
