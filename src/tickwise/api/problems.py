"""Problem documents (RFC 9457): every refusal says what is wrong, where, and how to repair it.

Core errors carry their status, field, position and nearest word; what FastAPI refuses has the same shape. An
unexpected error is shown by an id only, under which the log has it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..core.cron.zone import Zone, zone
from ..core.errors import InputError, TickwiseError, did_you_mean, nearest_word
from ..core.payload import clip
from ..log import get_logger

MEDIA_TYPE = "application/problem+json"
_log = get_logger()
_URN = "urn:tickwise:problem:"
_MAX_DETAIL_LENGTH = 4_000
_MAX_ERRORS = 20
_TYPES = {422: "invalid", 413: "too-large", 503: "unavailable"}
_TITLES = {422: "The request cannot be used", 413: "The request is too large"}


class Refusal(TickwiseError):  # noqa: N818  (a no, not a fault)
    """A refusal by the API itself, with its status and headers."""

    def __init__(
        self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, field: str | None = None,
        position: int | None = None, nearest: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(detail, field=field, position=position, nearest=nearest)
        self.http_status = status
        self.headers = headers


def unknown_name(status: int, what: str, name: str, known: Iterable[str], field: str | None = None) -> Refusal:
    """A name that nothing has, with the nearest that the caller may see."""
    near = nearest_word(name, known)
    return Refusal(status, f"there is no {what} {name[:100]!r}{did_you_mean(near)}", field=field, nearest=near)


@contextmanager
def about_field(field: str) -> Iterator[None]:
    """What is refused in here is about this field."""
    try:
        yield
    except InputError as error:
        raise error.reworded(f"{field}: {error}", field=field) from None


def zone_of(name: str | None) -> Zone | None:
    """The zone that a query names; 422 with the nearest name if there is none such."""
    with about_field("zone"):
        return None if name is None else zone(name)


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None, **members: Any) -> Response:
    """The document itself."""
    phrase = HTTPStatus(status).phrase
    shown = clip(detail, _MAX_DETAIL_LENGTH)
    content = {
        "type": _URN + _TYPES.get(status, phrase.lower().replace(" ", "-")),
        "title": _TITLES.get(status, phrase),
        "status": status,
        "detail": shown,
        **{name: value for name, value in members.items() if value is not None},
    }
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def problem_of_error(error: Exception) -> Response:
    """The document of an error; of an unexpected one, only an id."""
    match error:
        case RequestValidationError():
            return _validation_problem(error)
        case HTTPException():
            return problem(error.status_code, _DETAILS.get(error.status_code, str(error.detail)), error.headers)
        case TickwiseError() if error.http_status != HTTPStatus.INTERNAL_SERVER_ERROR:
            return problem(
                error.http_status, str(error), error.headers if isinstance(error, Refusal) else _later(error),
                nearest=error.nearest, field=error.field or None, position=error.position,
            )  # fmt: skip
    return unexpected(error)


def _later(error: TickwiseError) -> dict[str, str] | None:
    return None if error.retry_after is None else {"Retry-After": str(error.retry_after)}


def problem_content(error: Exception) -> dict[str, Any]:
    """The same as a part of another response."""
    content: dict[str, Any] = json.loads(bytes(problem_of_error(error).body))
    return content


def unexpected(error: Exception) -> Response:
    """A document with nothing but the id under which the log has the error."""
    number = uuid4().hex
    _log.error("request failed", id=number, exc_info=error)
    return problem(500, f"something went wrong on our side; the log has it as {number}", id=number)


_DETAILS = {
    404: "there is nothing at this address: see /openapi.json for what there is",
    405: "this address does not know that method: see /openapi.json",
    400: "the body cannot be read: send JSON",
}


def _validation_problem(error: RequestValidationError) -> Response:
    errors = [{"field": _field_path(found["loc"]), "problem": str(found["msg"])} for found in error.errors()]
    first = errors[0]
    detail = f"{first['field']}: {first['problem']}" if first["field"] else first["problem"]
    more = errors[:_MAX_ERRORS] if len(errors) > 1 else None
    return problem(422, detail, field=first["field"] or None, errors=more)


def _field_path(loc: tuple[Any, ...]) -> str:
    """The path of the value, without where it stands (body, query, path)."""
    return clip(".".join(str(part) for part in loc[1:]), 200)


def install_handlers(app: FastAPI) -> None:
    """Answer everything that is raised with a problem document."""

    async def answer(request: Request, error: Exception) -> Response:
        response = problem_of_error(error)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            response.headers["Allow"] = ", ".join(sorted(set(_methods(request))))
        return response

    for kind in (TickwiseError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)


def _methods(request: Request) -> Iterator[str]:
    """The methods of all routes with this path; Starlette names those of one route only."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    for route in request.app.routes:
        if isinstance(route, Route) and route.path_regex.match(path):
            yield from route.methods or ()
            yield from {"HEAD"} if "GET" in (route.methods or ()) else ()
