"""Settings of authentication: which hosts, proxies and roles the API accepts, and where it may listen."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..app.records import AccessRole
from ..app.stores import Store
from ..config import Settings
from ..core.errors import InputError
from .admin_token import admin_token
from .loopback import is_loopback
from .token_file import FILE, state_folder


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Loopback gets an operator's role unless configured otherwise; everybody else needs a token."""

    hosts: tuple[str, ...] = ()  # names under which people reach the API, besides those of loopback
    trusted_proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-For is believed
    without_token: AccessRole | None = AccessRole.OPERATOR  # on loopback; admin only where no socket is served
    name: str = "loopback"  # in the audit, of a request without a token


def check_binding(host: str, *, has_token: bool) -> None:
    """Refuse to listen beyond loopback while there is no token."""
    if not is_loopback(host) and not has_token:
        raise InputError(
            f"{host} can be reached by others, and there is no token yet: create one first "
            "(tickwise token create), or listen on 127.0.0.1"
        )


def warnings(host: str, access: AuthSettings, *, tls: bool) -> Iterator[str]:
    """What to warn of when the API starts."""
    if is_loopback(host):
        return
    if not tls and not access.trusted_proxies:
        yield (
            f"{host} is served without TLS: tokens can be read on the way. Put a proxy with TLS in front of it "
            "and name its address as a trusted proxy, or listen on 127.0.0.1."
        )
    if not access.hosts:
        yield f"No host name is allowed besides {host} itself: name those under which people will come."


def auth_settings(settings: Settings) -> AuthSettings:
    role = None if settings.loopback_role == "none" else AccessRole(settings.loopback_role)
    return AuthSettings(settings.hosts, settings.trusted_proxies, role)


async def load_auth(store: Store, settings: Settings) -> tuple[Path, list[str]]:
    """Make the admin token; its file, and what to warn of. Refused if the API could be used without a token."""
    known = [token for token in await store.access.tokens() if token.revoked_at is None]
    check_binding(settings.host, has_token=bool(known))
    folder = state_folder(settings.store)
    await admin_token(store, folder)
    return folder / FILE, list(warnings(settings.host, auth_settings(settings), tls=bool(settings.certificate)))
