"""Who may come in at all: the settings of the API's door."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from ..core.errors import InputError
from ..stores.records import AccessRole


@dataclass(frozen=True, slots=True)
class Access:
    """Loopback is trusted with an operator's role unless it is told otherwise; everybody else needs a token."""

    hosts: tuple[str, ...] = ()  # names under which people reach the API, besides those of loopback
    trusted_proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded-For is believed
    without_token: AccessRole | None = AccessRole.OPERATOR  # on loopback; admin only where no socket is served
    name: str = "loopback"  # by which the audit knows who comes without a token


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine only."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def check_binding(host: str, *, has_token: bool) -> None:
    """Nobody listens beyond loopback without a token: whoever reached it could do as they like."""
    if not is_loopback(host) and not has_token:
        raise InputError(
            f"{host} can be reached by others, and there is no token yet: create one first "
            "(tickwise token create), or listen on 127.0.0.1"
        )


def warnings(host: str, access: Access, *, tls: bool) -> Iterator[str]:
    """What a person who starts the API should know."""
    if is_loopback(host):
        return
    if not tls and not access.trusted_proxies:
        yield (
            f"{host} is served without TLS: tokens can be read on the way. Put a proxy with TLS in front of it "
            "and name its address as a trusted proxy, or listen on 127.0.0.1."
        )
    if not access.hosts:
        yield f"No host name is allowed besides {host} itself: name those under which people will come."
