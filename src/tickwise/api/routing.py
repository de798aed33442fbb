"""Routes, each with the role that may use it: a route without one cannot be made.

A `Door` is one row of the table: method, address, who may pass, and the function behind it. The check stands in
the route itself, before the body is read, and not in a list of addresses beside it.
"""

from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute

from ..stores.records import AccessRole
from .auth import Identity
from .coalesce import RequestCoalescer
from .context import RequestContext
from .idempotency import once
from .middleware import checked_body
from .problems import MEDIA_TYPE, Refusal

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_PROBLEM = {
    "description": "A problem document (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_REFUSALS: dict[int | str, dict[str, Any]] = {"4XX": _PROBLEM, "5XX": _PROBLEM}


@dataclass(frozen=True, slots=True)
class Route:
    """One route."""

    method: str
    path: str
    role: AccessRole | None  # none: everybody, unknown people too
    endpoint: Callable[..., Any]
    whole: bool = False  # not for who may see some jobs only
    once: bool = False  # a repeat with the same Idempotency-Key gets the first answer
    options: dict[str, Any] = field(default_factory=dict)


class Router:
    """The routes of one resource."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.all: list[Route] = []

    def add(
        self, method: str, path: str, role: AccessRole | None, *, whole: bool = False, once: bool = False,
        **options: Any,
    ) -> Callable[[Endpoint], Endpoint]:  # fmt: skip
        """Declare a route; options are those of FastAPI."""

        def declare(endpoint: Endpoint) -> Endpoint:
            given = {"tags": [self.tag], **options}
            self.all.append(Route(method, path, role, endpoint, whole=whole, once=once, options=given))
            return endpoint

        return declare

    def get(self, path: str, role: AccessRole | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("GET", path, role, **options)

    def post(self, path: str, role: AccessRole, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("POST", path, role, **options)

    def put(self, path: str, role: AccessRole, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("PUT", path, role, **options)

    def patch(self, path: str, role: AccessRole, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("PATCH", path, role, **options)

    def delete(self, path: str, role: AccessRole, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("DELETE", path, role, **options)


class GuardedRoute(APIRoute):
    """A door as FastAPI sees it."""

    def __init__(self, door: Route, prefix: str = "") -> None:
        self.door = door
        responses = {**_REFUSALS, **door.options.get("responses", {})}
        options = {"operation_id": door.endpoint.__name__, **door.options, "responses": responses}
        super().__init__(prefix + door.path, door.endpoint, methods=[door.method], **options)

    def get_route_handler(self) -> Handler:
        inner, door = super().get_route_handler(), self.door
        if door.role is None:
            return inner

        async def handle(request: Request) -> Response:
            visit = request.state.visit = await _admitted(request, door)
            await checked_body(request)
            if door.method == "GET":
                sharing: RequestCoalescer = request.app.state.sharing
                return await sharing.answer(_question(request, visit.who), lambda: inner(request))
            return await (once(request, visit, inner) if door.once else inner(request))

        return handle


def _question(request: Request, who: Identity) -> Hashable:
    """All that an answer depends on, but for the state of things."""
    scope = request.scope
    return scope["path"], scope["query_string"], tuple(scope["headers"]), who


async def _admitted(request: Request, door: Route) -> RequestContext:
    """The visitor, if the door is theirs."""
    state = request.app.state
    state.doorman.check_address(request)
    store = await state.tickwise.store()
    who = await state.doorman.identify(request, store)
    if door.role is None or not who.may(door.role):
        raise Refusal(403, f"this needs the role {door.role}, and {who.name} is {who.role}")
    if door.whole and who.scopes:
        raise Refusal(403, f"this concerns all jobs, and {who.name} may see {', '.join(who.scopes)} only")
    return RequestContext(state.tickwise, store, who, state.news, state.outlooks)
