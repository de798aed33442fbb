"""Authentication: which token or address a request comes with, and the identity and role that follow."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil
from urllib.parse import urlsplit

from fastapi import Request

from ..app.records import AccessRole, Token
from ..app.stores import Store
from ..clock import monotonic
from .auth_settings import AuthSettings, is_loopback
from .problems import Refusal
from .token_file import digest

# What the settings mean for the API's route.


# How often an address may be wrong about its token.

MOST, WINDOW = 10, 60.0  # failures, in so many seconds
_ADDRESSES = 10_000  # that are remembered; the oldest are forgotten first


class FailedLoginLimiter:
    """Failures by address, in a window that begins with the first."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when, how many

    def wait(self, address: str) -> int:
        """Seconds until the address may try again; 0 if it may now."""
        since, failures = self._failed.get(address, (0.0, 0))
        left = since + WINDOW - self._clock()
        if left <= 0:
            self._failed.pop(address, None)
        return ceil(left) if failures >= MOST and left > 0 else 0

    def fail(self, address: str) -> None:
        since, failures = self._failed.pop(address, (self._clock(), 0))
        self._failed[address] = (since, failures + 1)
        while len(self._failed) > _ADDRESSES:
            self._failed.popitem(last=False)


# Who asks, and from where.
#
# A token speaks for itself. Without one, only a request that comes straight from this machine is heard: one that a
# proxy has passed on bears a forwarding header, and the proxy's address says nothing about who sent it. The Host
# header must be a name that we know, since a browser can be led to loopback under a stranger's name, and a browser
# that changes something must come from a page of ours (Origin).

RANKS = {role: rank for rank, role in enumerate((AccessRole.VIEWER, AccessRole.OPERATOR, AccessRole.ADMIN))}
_FORWARDED = ("forwarded", "x-real-ip", "via")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="tickwise"'}
_LONGEST_TOKEN = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody, as the rest of the API sees them."""

    name: str
    role: AccessRole
    scopes: tuple[str, ...] = ()  # patterns of job names; none: all jobs

    def may(self, role: AccessRole) -> bool:
        return RANKS[self.role] >= RANKS[role]

    def sees(self, job: str) -> bool:
        return not self.scopes or any(fnmatchcase(job, pattern) for pattern in self.scopes)


class Authenticator:
    """Knows people by their tokens."""

    def __init__(self, access: AuthSettings, attempts: FailedLoginLimiter | None = None) -> None:
        self._access = access
        self._attempts = attempts or FailedLoginLimiter()

    def check_address(self, request: Request) -> None:
        """Refuse what a stranger's page may have sent."""
        host = self._host(request)
        if request.headers.get("sec-fetch-site") == "cross-site":
            raise Refusal(403, "a page of another site asks: only pages of this host may")
        if not self._knows(_name(host), request):
            raise Refusal(
                403, f"the host {host[:100]!r} is not one of ours: reach us as localhost, or allow it in `hosts`"
            )
        origin = request.headers.get("origin")
        if origin is not None and request.method not in _SAFE and not _same_origin(origin, host):
            raise Refusal(403, f"a page of {origin[:100]!r} may change nothing here: use one of this host")

    async def identify(self, request: Request, store: Store) -> Identity:
        """Who it is; 401 if nobody we know."""
        given = request.headers.get("authorization")
        if given is None:
            return self._local(request)
        address = self._address(request)
        if wait := self._attempts.wait(address):
            raise Refusal(
                429,
                f"too many wrong tokens from {address}: try again in {wait} s",
                headers={"Retry-After": str(wait)},
            )
        try:
            return await self._of_token(given, store)
        except Refusal:
            self._attempts.fail(address)
            raise

    async def _of_token(self, given: str, store: Store) -> Identity:
        kind, _, secret = given.partition(" ")
        secret = secret.strip()
        if kind.lower() != "bearer" or not 0 < len(secret) <= _LONGEST_TOKEN:
            raise _unknown("the Authorization header must be: Bearer TOKEN")
        token = await store.access.token(digest(secret))
        if token is None:
            raise _unknown("nobody has this token: create one (tickwise token create)")
        await _check_life(token, store)
        return Identity(token.name, token.role, token.scopes)

    def _local(self, request: Request) -> Identity:
        role, peer = self._access.without_token, _peer(request)
        if role is None or not is_loopback(peer):
            raise _unknown("a token is needed: send Authorization: Bearer TOKEN")
        if any(_is_forwarding(name) for name in request.headers):
            raise _unknown("a request that a proxy passed on needs a token: send Authorization: Bearer TOKEN")
        return Identity(self._access.name, role)

    def _address(self, request: Request) -> str:
        """Where a request comes from: what a trusted proxy says, else who is at the other end."""
        peer = _peer(request)
        if peer in self._access.trusted_proxies:
            hops = [hop.strip() for hop in request.headers.get("x-forwarded-for", "").split(",")]
            strangers = [hop for hop in hops if hop and hop not in self._access.trusted_proxies]
            return strangers[-1][:100] if strangers else peer
        return peer

    def _host(self, request: Request) -> str:
        """The name under which we were reached: a trusted proxy passes it on."""
        named = request.headers.get("host", "")
        trusted = _peer(request) in self._access.trusted_proxies
        return request.headers.get("x-forwarded-host", named) if trusted else named

    def _knows(self, name: str, request: Request) -> bool:
        server = request.scope.get("server")
        own: Iterable[str] = (*self._access.hosts, server[0] if server else "")
        return bool(name) and (is_loopback(name) or name in [one.lower() for one in own])


async def _check_life(token: Token, store: Store) -> None:
    if token.revoked_at is not None:
        raise _unknown(f"the token {token.name!r} was revoked: create another")
    if token.expires_at is not None and token.expires_at <= await store.now():
        raise _unknown(f"the token {token.name!r} has expired: create another")


def _unknown(why: str) -> Refusal:
    return Refusal(401, why, headers=_CHALLENGE)


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def _is_forwarding(header: str) -> bool:
    return header in _FORWARDED or header.startswith("x-forwarded-")


def _name(host: str) -> str:
    """The host's name without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same_origin(origin: str, host: str) -> bool:
    try:
        page, here = urlsplit(origin), urlsplit(f"//{host}")
        port = _PORTS.get(page.scheme)
        return bool(page.hostname) and (page.hostname, page.port or port) == (here.hostname, here.port or port)
    except ValueError:
        return False
