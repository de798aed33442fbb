"""The app that a project has for its commands: `manage.py tickwise` gives one, `tickwise` does not."""

from ..app import AsyncTickwise

_apps: list[AsyncTickwise] = []


def use_app(app: AsyncTickwise) -> None:
    """Let `serve`, `ticker` and `worker` run this app if none is named."""
    _apps[:] = [app]


def project_app() -> AsyncTickwise | None:
    return _apps[0] if _apps else None
