"""The OpenAPI schema is true: whatever it allows or forbids, the API answers as it says."""

import asyncio
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks

from tickwise.api.app import make_api
from tickwise.api.token_file import digest
from tickwise.app import AsyncTickwise
from tickwise.stores.access_records import AccessRole, Token

from ..support.api import NIGHTLY

load_all_checks()
_UNFIT = (
    "positive_data_acceptance",  # a text may have the shape of a cron expression and still be none
)
_EXCLUDED: list[Any] = [CHECKS.get_one(name) for name in _UNFIT]
_TICKWISE = AsyncTickwise("memory://")
_APP = make_api(_TICKWISE)
_SECRET = "schema"  # noqa: S105  (nobody else's)
_AUTH = {"Authorization": f"Bearer {_SECRET}"}


async def _fill() -> None:
    await (await _TICKWISE.store()).access.issue(Token("any", "any", AccessRole.ADMIN), digest(_SECRET))
    fields: Any = {name: value for name, value in NIGHTLY.items() if name != "name"}
    await _TICKWISE.schedules.add("nightly", **fields)
    await _TICKWISE.enqueue("nightly")


async def _from_loopback(scope: Any, receive: Any, send: Any) -> None:
    """The same API, reached as from this machine."""
    if scope["type"] == "http":
        headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
        scope = {**scope, "client": ("127.0.0.1", 1), "headers": [*headers, (b"host", b"localhost")]}
    await _APP(scope, receive, send)


asyncio.run(_fill())
_schema = schemathesis.openapi.from_asgi("/openapi.json", _from_loopback, headers=_AUTH).exclude(
    path="/api/v1/events"
)
_schema.config.checks.negative_data_rejection.expected_statuses = ["4xx"]  # too long is a no as well
_schema.config.checks.missing_required_header.expected_statuses = ["4xx"]  # 429 after many without a signature


@_schema.parametrize()
@settings(max_examples=10, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
def test_the_api_answers_as_its_schema_says(case: schemathesis.Case[Any]) -> None:
    """No request that the schema allows or forbids is met with a crash or with an answer it does not name."""
    case.call_and_validate(excluded_checks=_EXCLUDED)
