"""Sign-on of people, from the settings: the tables `[oidc]` and `[trusted_header]`.

[oidc]
issuer = "https://login.example.com/realms/main"
client_id = "tickwise"
client_secret = "file:/run/secrets/oidc"  # or env:NAME, or command:PROGRAM
roles = {admin = ["platform"], viewer = ["*"]}

[trusted_header]
user = "X-Forwarded-User"
groups = "X-Forwarded-Groups"
from = ["10.0.0.7/32"]
roles = {operator = ["etl"]}
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from .core.errors import InputError, did_you_mean, nearest_word
from .core.timeparse import format_duration, parse_duration
from .role_grants import RoleGrant, read_grants
from .runtime.secret_providers import read_secret_places
from .toml_table import read_table

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OIDC_FIELDS = (
    "issuer", "client_id", "client_secret", "scope", "groups_claim", "name_claim", "label", "session", "roles",
)  # fmt: skip
_HEADER_FIELDS = ("user", "groups", "from", "roles")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^`|~\-]{1,100}", re.ASCII)  # `_` too is lost in some proxies
_USED_HEADERS = frozenset({"authorization", "cookie", "host", "origin", "x-forwarded-for", "x-forwarded-host"})
_LONGEST_SESSION = 7 * 86_400  # seconds


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The provider that people sign in with, and what their groups may do."""

    issuer: str
    client_id: str
    roles: tuple[RoleGrant, ...]
    client_secret: str = field(default="", repr=False)  # where it is; none: a public client
    scope: str = "openid profile email"
    groups_claim: str = "groups"
    name_claim: str = "preferred_username"
    label: str = ""
    session: int = 8 * 3_600  # seconds until a person signs in again

    @property
    def button(self) -> str:
        """What the page calls the provider."""
        return self.label or urlsplit(self.issuer).hostname or self.issuer

    def __str__(self) -> str:
        """For people, without what is secret."""
        place = f", secret from {self.client_secret.partition(':')[0]}:…" if self.client_secret else ""
        return f"{self.issuer} as {self.client_id}{place}, sessions of {format_duration(self.session)}"


@dataclass(frozen=True, slots=True)
class TrustedHeader:
    """Headers in which an authenticating proxy says who a person is, and the addresses that it connects from."""

    user: str
    roles: tuple[RoleGrant, ...]
    groups: str = ""
    sources: tuple[IPv4Network | IPv6Network, ...] = ()

    def is_from(self, peer: str) -> bool:
        """Whether a connection comes from the proxy."""
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        plain = getattr(address, "ipv4_mapped", None) or address
        return any(plain in network for network in self.sources)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(filter(None, (self.user, self.groups)))

    def __str__(self) -> str:
        return f"{self.user} from {', '.join(map(str, self.sources)) or 'nowhere'}"


def read_oidc(given: Any) -> OidcSettings:
    """The table `[oidc]`. A string is TOML."""
    if isinstance(given, OidcSettings):
        return given
    fields = _checked(given, "[oidc]", _OIDC_FIELDS, ("issuer", "client_id", "roles"))
    texts = {key: _shown_text(fields, key) for key in _OIDC_FIELDS[:-2] if key in fields}
    if "client_secret" in texts:
        read_secret_places({"client_secret": texts["client_secret"]})
    if "openid" not in texts.get("scope", "openid").split():
        raise InputError('scope: write openid as well, such as "openid profile email groups"')
    texts["issuer"] = _issuer(texts["issuer"])
    session = {"session": _session(fields["session"])} if "session" in fields else {}
    return OidcSettings(**texts, **session, roles=read_grants(fields["roles"]))  # type: ignore[arg-type]  # (checked)


def _issuer(text: str) -> str:
    if not is_safe_address(text) or urlsplit(text).query or "#" in text:
        raise InputError("issuer: write an address that begins with https://, exactly as the provider writes it")
    return text


def is_safe_address(text: str) -> bool:
    """Whether nobody on the way can read or change what is sent there: https, or this machine."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    return bool(parts.hostname) and parts.username is None and (parts.scheme == "https" or is_local)


def _session(value: Any) -> int:
    seconds = parse_duration(value) if isinstance(value, str) else value
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 60 <= seconds <= _LONGEST_SESSION:
        raise InputError("session: write a duration from 1m to 7d, such as 8h")
    return seconds


def read_trusted_header(given: Any) -> TrustedHeader:
    """The table `[trusted_header]`. A string is TOML."""
    if isinstance(given, TrustedHeader):
        return given
    fields = _checked(given, "[trusted_header]", _HEADER_FIELDS, ("user", "roles"))
    names = {key: _header_name(fields, key) for key in ("user", "groups") if key in fields}
    if len({*names.values()}) < len(names):
        raise InputError("groups: name another header than that of `user`")
    return TrustedHeader(**names, sources=_networks(fields.get("from", ())), roles=read_grants(fields["roles"]))


def _header_name(fields: Mapping[str, Any], key: str) -> str:
    name = _shown_text(fields, key).lower()
    if not _HEADER_NAME.fullmatch(name) or name in _USED_HEADERS:
        raise InputError(f"{key}: {name[:60]!r} cannot be this header: write one such as X-Forwarded-User")
    return name


def _networks(given: Any) -> tuple[IPv4Network | IPv6Network, ...]:
    entries = [given] if isinstance(given, str) else given
    if not isinstance(entries, list | tuple) or not all(isinstance(one, str) for one in entries):
        raise InputError('from: write a list of addresses, such as ["10.0.0.7/32"]')
    try:
        found = tuple(ip_network(one) for one in entries)
    except ValueError as error:
        raise InputError(
            f"from: {error}: write addresses of the proxy, such as 10.0.0.7/32; a unix socket is none, since its "
            "user is an admin"
        ) from None
    if any(network.prefixlen == 0 for network in found):
        raise InputError("from: this trusts everybody: write the addresses of the proxy only")
    return found


def sign_on_warnings(trusted: TrustedHeader | None) -> Iterator[str]:
    """What to warn of in `[trusted_header]`."""
    if trusted is None:
        return
    if not trusted.sources:
        yield f"{trusted.user} counts on no connection: name the addresses of the proxy in [trusted_header] from."
    if any(network.is_loopback for network in trusted.sources):
        yield (
            f"{trusted.user} counts on connections from this machine, where every user can send it and be "
            "anybody. Put the proxy on a machine of its own, or let nobody else log in here."
        )


def _checked(given: Any, table: str, known: Collection[str], needed: Collection[str]) -> Mapping[str, Any]:
    fields = read_table(given, f"a table {table} with {', '.join(known)}")
    for key in fields:
        if key not in known:
            raise InputError(f"there is no {str(key)[:60]!r}{did_you_mean(nearest_word(str(key), known))}")
    for key in needed:
        if key not in fields:
            raise InputError(f"{key} is missing: {table} needs {', '.join(needed)}")
    return fields


def _shown_text(fields: Mapping[str, Any], key: str) -> str:
    value = fields[key]
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InputError(f"{key}: write a text")
    return value
