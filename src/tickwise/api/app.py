"""The ASGI application of the API, composed."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ..app import AsyncTickwise
from ..app.attempts import AttemptSecret
from ..app.health import READY, Readiness
from ..app.upcoming import ForecastCache
from ..app.webhooks import HookSecret, Webhooks
from .auth import Authenticator
from .auth_settings import AuthSettings
from .coalesce import Coalescer
from .events import EventBroadcaster
from .metrics import Metrics
from .middleware import LimitsMiddleware
from .problems import install_handlers
from .routes import all_routes
from .routing import GuardedRoute
from .schemas.common import Problem
from .sign_on import SignOn

GetReadiness = Callable[[], Awaitable[Readiness]]
_DEFAULT_AUTH = AuthSettings()
_SECRETS = ("token", *AttemptSecret)  # what may stand in the header Authorization
_SIGNATURE = {"type": "apiKey", "in": "header", "name": "X-Tickwise-Signature"}
_DESCRIPTION = "Schedules, runs and why: everything that the dashboard and the command line can do."


def make_api(
    tickwise: AsyncTickwise,
    *,
    access: AuthSettings = _DEFAULT_AUTH,
    readiness: GetReadiness | None = None,
    root_path: str = "",
    **options: Any,
) -> FastAPI:
    """An ASGI application over a scheduler, under a proxy's `root_path`; options are those of FastAPI."""
    app = FastAPI(
        title="Tickwise", version=version("tickwise"), description=_DESCRIPTION,
        openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False, **options,
    )  # fmt: skip
    app.state.tickwise = tickwise
    app.state.authenticator = Authenticator(access)
    app.state.sign_on = SignOn(access.oidc) if access.oidc else None
    app.state.events = EventBroadcaster(tickwise.store)
    app.state.forecasts = ForecastCache(tickwise.store)
    app.state.webhooks = Webhooks(tickwise.settings.secrets)
    app.state.metrics = Metrics(tickwise.store)
    app.state.simulation = asyncio.Lock()
    app.state.responses = Coalescer(lambda response: hasattr(response, "body"))  # one that is streamed has none
    app.state.readiness = readiness or _store_readiness(tickwise)
    app.router.routes.extend(GuardedRoute(route, prefix) for prefix, route in all_routes())
    app.add_middleware(LimitsMiddleware, root_path=root_path)
    install_handlers(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # (FastAPI's own way to change it)
    return app


def _store_readiness(tickwise: AsyncTickwise) -> GetReadiness:
    async def readiness() -> Readiness:
        await (await tickwise.store()).now()
        return READY

    return readiness


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = schema.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        components["securitySchemes"] = {name: {"type": "http", "scheme": "bearer"} for name in _SECRETS}
        components["securitySchemes"][str(HookSecret.SIGNATURE)] = _SIGNATURE
        schema["security"] = [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema
