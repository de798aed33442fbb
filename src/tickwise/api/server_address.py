"""The URLs of a server, as people on its machine open them."""

from ..config import Settings

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (what it means for a browser here)


def server_address(settings: Settings, port: int) -> str:
    """Its URL on this machine."""
    host = _ANY_ADDRESS.get(settings.host, settings.host)
    scheme = "https" if settings.certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{settings.root_path}"


def link_address(dashboard: str, code: str) -> str:
    """A one-time link. The code is in the fragment, which browsers send to no server, proxy or log."""
    return f"{dashboard.rstrip('/')}/#/signin?code={code}"
