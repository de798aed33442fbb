"""Routes, each with the role that may use it: a route without one cannot be made.

A `Route` is one row of the table: method, path, required role and endpoint. The role is checked inside the route,
before the body is read; there is no separate list of paths to keep in step. A few routes are for the work of
attempts that engines execute: they need a secret of their attempt instead, and no role of a person opens them.
Guesses of it are not counted: it is a random text that nobody can guess.
"""

from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.convertors import StringConvertor, register_url_convertor

from ..app.attempts import AttemptSecret, open_attempt
from ..app.operations import Operations
from ..app.records import AccessRole
from ..app.run_search import sees_all
from ..app.view import View
from ..app.webhooks import HookSecret
from ..trace_context import receive
from .auth import bearer_secret
from .coalesce import Coalescer
from .compression import compressed
from .context import RequestContext
from .idempotency import once
from .identity import Identity
from .middleware import checked_body
from .problems import MEDIA_TYPE, Refusal
from .schemas.common import NAME_PATTERN

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_PROBLEM = {
    "description": "A problem document (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_REFUSALS: dict[int | str, dict[str, Any]] = {"4XX": _PROBLEM, "5XX": _PROBLEM}


class _NameConvertor(StringConvertor):
    """`{name:name}` in a path: a text that cannot be a name or an id matches no route."""

    regex = NAME_PATTERN


register_url_convertor("name", _NameConvertor())


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the table."""

    method: str
    path: str
    role: AccessRole | AttemptSecret | HookSecret | None  # none: everybody, without a token too
    endpoint: Callable[..., Any]
    whole: bool = False  # concerns all jobs: refused to a token with scopes
    once: bool = False  # a repeat with the same Idempotency-Key gets the first answer
    options: dict[str, Any] = field(default_factory=dict)


class Router:
    """The routes of one resource."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.routes: list[Route] = []

    def add(
        self, method: str, path: str, role: AccessRole | AttemptSecret | HookSecret | None, *, whole: bool = False,
        once: bool = False, **options: Any,
    ) -> Callable[[Endpoint], Endpoint]:  # fmt: skip
        """Declare a route; options are those of FastAPI."""

        def declare(endpoint: Endpoint) -> Endpoint:
            given = {"tags": [self.tag], **options}
            self.routes.append(Route(method, path, role, endpoint, whole=whole, once=once, options=given))
            return endpoint

        return declare

    def get(self, path: str, role: AccessRole | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("GET", path, role, **options)

    def post(
        self, path: str, role: AccessRole | AttemptSecret | HookSecret | None, **options: Any
    ) -> Callable[[Endpoint], Endpoint]:
        return self.add("POST", path, role, **options)

    def put(self, path: str, role: AccessRole, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("PUT", path, role, **options)

    def patch(self, path: str, role: AccessRole, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("PATCH", path, role, **options)

    def delete(self, path: str, role: AccessRole | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self.add("DELETE", path, role, **options)


class GuardedRoute(APIRoute):
    """A route as FastAPI sees it."""

    def __init__(self, route: Route, prefix: str = "") -> None:
        self.route = route
        responses = {**_REFUSALS, **route.options.get("responses", {})}
        options = {
            "openapi_extra": _security(route),
            "operation_id": route.endpoint.__name__, **route.options, "responses": responses,
        }  # fmt: skip
        super().__init__(prefix + route.path, route.endpoint, methods=[route.method], **options)

    def get_route_handler(self) -> Handler:
        inner, route = super().get_route_handler(), self.route
        if route.role is None:
            return inner if route.method == "GET" else _guard_address(inner)
        if isinstance(route.role, AttemptSecret):
            return _guard_attempt(inner, route.role)
        if isinstance(route.role, HookSecret):
            return _guard_hook(inner)

        async def handle(request: Request) -> Response:
            context = request.state.context = await _authorize(request, route)
            await checked_body(request)
            if route.method == "GET":
                responses: Coalescer[Response] = request.app.state.responses
                return await responses.answer(
                    _request_key(request, context.identity), lambda: _inner_compressed(request, inner)
                )
            return await (once(request, context, inner) if route.once else inner(request))

        return handle


async def _inner_compressed(request: Request, inner: Handler) -> Response:
    return await compressed(request, await inner(request))


def _guard_address(inner: Handler) -> Handler:
    """The handler of a route that everybody may use, but no page of another site."""

    async def handle(request: Request) -> Response:
        request.app.state.authenticator.check_address(request)
        await checked_body(request)
        return await inner(request)

    return handle


def _guard_attempt(inner: Handler, kind: AttemptSecret) -> Handler:
    """The handler of a route for the work of an attempt, which shows this secret of it."""

    async def handle(request: Request) -> Response:
        state = request.app.state
        state.authenticator.check_address(request)
        secret = bearer_secret(request, f"the {kind} of the attempt is needed: send Authorization: Bearer …")
        reference = request.path_params["reference"]
        request.state.attempt = await open_attempt(await state.tickwise.store(), reference, kind, secret)
        await checked_body(request)
        return await inner(request)

    return handle


def _guard_hook(inner: Handler) -> Handler:
    """The handler of a hook: the signature is of the body, whatever that is, so the endpoint checks both."""

    async def handle(request: Request) -> Response:
        request.app.state.authenticator.check_address(request)
        return await inner(request)

    return handle


def _security(route: Route) -> dict[str, Any] | None:
    """What OpenAPI says about a route that needs no token of a person."""
    if route.role is None:
        return {"security": []}
    return {"security": [{str(route.role): []}]} if isinstance(route.role, AttemptSecret | HookSecret) else None


def _request_key(request: Request, identity: Identity) -> Hashable:
    """Everything in a request that its response depends on."""
    scope = request.scope
    return scope["path"], scope["query_string"], tuple(scope["headers"]), identity


async def _authorize(request: Request, route: Route) -> RequestContext:
    """Authenticate the request and check its role; 401 or 403 if it may not use the route."""
    state = request.app.state
    receive(request.headers.get("traceparent"))
    state.authenticator.check_address(request)
    opened = await state.tickwise.opened()
    store = opened.store
    known = await state.authenticator.identify(request, store)
    identity = known.narrowed(route.role) if isinstance(route.role, AccessRole) else None
    if identity is None:
        raise Refusal(403, f"this needs the role {route.role}, and {known.name} is {known.role}")
    if route.whole and identity.scopes:
        raise Refusal(
            403, f"this concerns all jobs, and {identity.name} may see {', '.join(identity.scopes)} only"
        )
    tickwise = state.tickwise
    return RequestContext(
        tickwise=tickwise, view=View(store, identity.sees if identity.scopes else sees_all),
        operations=Operations(opened, tickwise.schedules.defaults), access=store.access, identity=identity,
        events=state.events, forecasts=state.forecasts,
    )  # fmt: skip
