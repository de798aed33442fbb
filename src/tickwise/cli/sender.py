"""Requests to the API, whatever brings them there: where it is, and how it refuses."""

from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..core.errors import TickwiseError

_EXIT_CODES = {409: 1, 412: 1}  # conflicts with the present state; every other 4xx is bad input
_HINTS = {401: ": set TICKWISE_TOKEN, or pass --token @FILE"}


class ApiTarget(NamedTuple):
    """Where the API is: at an address, or over a store."""

    server: str | None = None
    token: str | None = None
    store: str | None = None
    config: Path | None = None


class ApiRefusal(TickwiseError):  # noqa: N818  (the API works, and refuses)
    """An error response of the API, with the text of its problem document."""

    def __init__(self, status: int, problem: Mapping[str, Any], where: str) -> None:
        others = [f"\n{one['field']}: {one['problem']}" for one in problem.get("errors", ())[1:]]
        self.detail = "".join((str(problem.get("detail", f"the API answered {status}")), *others))
        self.http_status = status
        self.exit_code = _EXIT_CODES.get(status, 2) if status < 500 else 1
        self._where = where
        hint = f"; looked in {where}" if status == HTTPStatus.NOT_FOUND else _HINTS.get(status, "")
        super().__init__(self.detail + hint, field=problem.get("field"))

    def at(self, position: str) -> "ApiRefusal":
        """The same, at a position in a file."""
        problem = {"detail": f"{position}: {self.detail}", "field": self.field}
        return ApiRefusal(self.http_status, problem, self._where)


class Sender(Protocol):
    """Whatever brings a request to the API."""

    async def request(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
        """The response to a query or a body; `ApiRefusal` for an error."""

    def events(self, path: str) -> AsyncGenerator[tuple[str, Any], None]:
        """The kind and the data of each event of a stream, until it ends."""
