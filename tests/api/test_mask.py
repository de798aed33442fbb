"""What is shown of secrets."""

from typing import Any

import pytest

from tickwise.api.mask import MASK, masked


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
