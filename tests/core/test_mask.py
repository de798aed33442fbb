"""What is shown of secrets."""

from typing import Any

import pytest

from tickwise.core.mask import MASK, hidden_texts, masked


@pytest.mark.parametrize(
    "value",
    [
        {"passphrase": "hunter2"},
        {"pwd": "hunter2"},
        {"AWS_ACCESS_KEY_ID": "hunter2"},
        {"password": {"old": "hunter2", "new": ["hunter2"]}},
        {"env": {"REGION": "hunter2"}},
        {"headers": {"X-Job": "hunter2"}},
        {"http": {"url": "https://example.com", "body": "hunter2"}},
        {"url": "https://example.com/?a=1&api_key=hunter2&b=2"},
        {"url": "https://example.com/?x_token=hunter2#part"},
        {"url": "postgresql://user:hunter2@db/jobs"},
        {"list": [{"secret": 2}, {"token": "hunter2"}]},
    ],
)
def test_secrets_are_masked(value: dict[str, Any]) -> None:
    """B8: by one table of names, at any depth, and in addresses."""
    assert "hunter2" not in str(masked(value))


def test_other_values_are_shown() -> None:
    """Flags, numbers and texts, and the body of anything that is no request."""
    value = {"name": "etl", "password": None, "body": "text", "url_count": 3, "url": "https://example.com/?page=2"}
    assert masked({"params": value}) == {"params": {**value, "body": MASK}}
    assert masked({"body": "text", "on": True}) == {"body": "text", "on": True}


def test_variables_and_headers_that_are_no_secrets() -> None:
    """PATH, the zone or the type of a body say nothing, and replaced in a log they would spoil it."""
    value = {"env": {"PATH": "/bin", "LC_ALL": "C"}, "headers": {"Content-Type": "text/plain"}}
    assert masked(value) == value
    assert hidden_texts(value) == frozenset()


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"env": {"REGION": "eu", "TZ": "UTC"}}, {"eu"}),
        ({"params": {"table": "orders", "api_key": 12345, "password": ["a", None, True]}}, {"12345", "a"}),
        ({"headers": {"Authorization": "Bearer abc"}}, {"Bearer abc", "abc"}),
        ({"store": "postgresql://me:p%40ss@db/jobs"}, {"p%40ss", "p@ss"}),
        (
            {"url": "https://example.com", "body": '{"user": "me", "pwd": "x"}'},
            {'{"user": "me", "pwd": "x"}', "x"},
        ),
        ({"url": "https://example.com", "body": "user=me&token=x"}, {"user=me&token=x", "x"}),
        ({"env": {"DB": "mysql://me:x@db"}}, {"mysql://me:x@db", "x"}),
    ],
)
def test_the_secrets_themselves(value: dict[str, Any], texts: set[str]) -> None:
    """B8: exactly what is shown masked, and the parts by which programs use it."""
    assert hidden_texts(value) == texts
