"""The API and the page as an ASGI application, to be mounted under a path of another: `mount("/tickwise", …)`.

Everybody needs a token there as well; nobody has a role without one. The scheduler need not run in this process.
"""

from .app import AsyncTickwise, Tickwise
from .app.health import NOT_READY, READY, App, Message, Readiness, Receive, Send
from .extras import packages_of

with packages_of("server", "the API"):
    from .api.app import make_api
    from .api.auth_settings import auth_settings

__all__ = ["api_app"]


def api_app(tickwise: AsyncTickwise | Tickwise) -> App:
    """The API and the page over a scheduler. Its setting `hosts` names those under which people come."""
    scheduler = tickwise.awaited if isinstance(tickwise, Tickwise) else tickwise

    async def readiness() -> Readiness:
        found = scheduler.node.readiness if scheduler.node else None
        if found != NOT_READY:
            await (await scheduler.store()).now()
        return found or READY

    api = make_api(scheduler, access=auth_settings(scheduler.settings), readiness=readiness)

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        if scope["type"] == "http" and root and scope["path"] in (root, ""):
            headers = [(b"location", f"{root}/".encode()), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 307, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await api(scope, receive, send)

    return app
