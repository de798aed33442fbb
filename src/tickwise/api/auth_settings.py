"""Settings of authentication: which hosts and proxies the API accepts, and where it may listen."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..app.stores import Store
from ..config import Settings
from ..core.errors import InputError
from ..ownership import WriterCheck
from ..sign_on_settings import OidcSettings, TrustedHeader, sign_on_warnings
from .admin_token import admin_token
from .loopback import is_loopback
from .token_file import FILE, state_folder


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """The names under which requests may come, and the proxies that may speak for others."""

    hosts: tuple[str, ...] = ()  # names under which people reach the API, besides those of loopback
    trusted_proxies: tuple[str, ...] = ()  # addresses whose forwarding headers are believed
    oidc: OidcSettings | None = None
    trusted_header: TrustedHeader | None = None


def check_binding(host: str, *, has_token: bool) -> None:
    """Refuse to listen beyond loopback while there is no token."""
    if not is_loopback(host) and not has_token:
        raise InputError(
            f"{host} can be reached by others, and there is no token yet: create one first "
            "(tickwise token create), or listen on 127.0.0.1"
        )


def warnings(host: str, access: AuthSettings, *, tls: bool) -> Iterator[str]:
    """What to warn of when the API starts."""
    yield from sign_on_warnings(access.trusted_header)
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
    return AuthSettings(settings.hosts, settings.trusted_proxies, settings.oidc, settings.trusted_header)


class LoadedAuth(NamedTuple):
    """The file with the admin token, and what to warn of."""

    file: Path
    warnings: list[str]


async def load_auth(store: Store, settings: Settings) -> LoadedAuth:
    """Make the admin token. Refused if others could reach the API while nobody has a token."""
    known = [token for token in await store.access.tokens() if token.revoked_at is None]
    check_binding(settings.host, has_token=bool(known))
    folder = state_folder(settings.store)
    await admin_token(store, folder, WriterCheck(settings.trusted_folders))
    cautions = warnings(settings.host, auth_settings(settings), tls=bool(settings.certificate))
    return LoadedAuth(folder / FILE, list(cautions))
