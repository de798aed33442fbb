"""Secrets are replaced in whatever a run leaves behind."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.mask import MASK
from tickwise.core.redaction import NO_SECRETS, Redactor, redactor_of

SECRET = 'p"ä\\ss wörd&1'  # noqa: S105  (nobody's)
KEY = "-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\n-----END KEY-----\n"


@pytest.mark.parametrize(
    "text",
    [
        f"it is {SECRET}.",
        '{"it": "p\\"\\u00e4\\\\ss w\\u00f6rd&1"}',
        '{"it": "p\\"ä\\\\ss wörd&1"}',
        f"{[SECRET]!r}",
        "https://example.com/?q=p%22%C3%A4%5Css%20w%C3%B6rd%261",
        "https://example.com/?q=p%22%C3%A4%5Css+w%C3%B6rd%261",
    ],
)
def test_a_secret_is_found_as_it_is_written(text: str) -> None:
    """B8: as it stands, and as JSON, Python and an address write it."""
    redacted = Redactor([SECRET]).text(text)
    assert MASK in redacted
    assert "rd" not in redacted


def test_each_line_of_a_secret() -> None:
    """B8: a key is found as a whole, and line by line, as a log would show it."""
    redactor = Redactor([KEY])
    assert redactor.text(f"key:\n{KEY}") == f"key:\n{MASK}\n"
    assert redactor.text("1: MIIEvQIBADAN\n2: BgkqhkiG9w0B") == f"1: {MASK}\n2: {MASK}"


@pytest.mark.parametrize("text", ["", "1", "abc", " on ", "true", "FALSE", "None"])
def test_what_stands_everywhere_is_left(text: str) -> None:
    """B8: a text below four characters, or a word such as `true`, would spoil any log."""
    assert Redactor([text]).text(f"as it is: {text}") == f"as it is: {text}"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("hunter2", MASK),
        ({"hunter2": ["a hunter2", None, True, 2.5]}, {MASK: [f"a {MASK}", None, True, 2.5]}),
        ([12345, 123456, 0.12345], [MASK, 123456, 0.12345]),
        (("hunter2",), [MASK]),
    ],
)
def test_results(value: Any, kept: Any) -> None:
    """B8: texts and keys at any depth; a number only if it is the secret."""
    assert Redactor(["hunter2", "12345"]).value(value) == kept


def test_without_secrets_nothing_changes() -> None:
    """Values, texts and streams go through as they are."""
    value = {"a": ("b",)}
    stream = NO_SECRETS.stream()
    assert NO_SECRETS.value(value) is value
    assert (NO_SECRETS.text("x"), stream.feed(b"x"), stream.flush()) == ("x", b"x", b"")


def test_runs_of_a_job_share_a_redactor() -> None:
    """Its patterns are compiled once."""
    assert redactor_of(frozenset({"hunter2"})) is redactor_of(frozenset({"hunter2"}))


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


@given(
    secrets=st.lists(st.text("ab", min_size=4, max_size=9), max_size=4),
    text=st.text("ab\n", max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_a_secret_may_come_in_pieces(secrets: list[str], text: str, cuts: list[int]) -> None:
    """B8: however the output is cut, the log is that of the whole."""
    redactor = Redactor(secrets)
    stream = redactor.stream()
    written = b"".join(map(stream.feed, _pieces(text.encode(), cuts))) + stream.flush()
    assert written == redactor.text(text).encode()


def test_only_a_possible_beginning_is_held_back() -> None:
    """A line is seen as soon as it is certain that it is no secret."""
    stream = Redactor(["hunter2", "2fast"]).stream()
    assert [stream.feed(data) for data in (b"user hun", b"gry\n", b"hunter", b"2", b"fa", b"st\n")] == [
        b"user ", b"hungry\n", b"", MASK.encode(), b"fa", b"st\n",
    ]  # fmt: skip
