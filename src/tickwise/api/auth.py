"""Authentication: the identity and role of a request, by its token or its address.

A request without a token is accepted only if it comes straight from this machine: one that a proxy passed on has
a forwarding header, and the proxy's address says nothing about its sender. The Host header must be a known name,
since a browser can be led to loopback under another name (DNS rebinding). A browser that changes something must
come from a page of this host (Origin).
"""

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
from .auth_settings import AuthSettings
from .loopback import is_loopback
from .problems import Refusal
from .token_file import digest

MAX_FAILURES, WINDOW = 10, 60.0  # of one address, in so many seconds
_MAX_ADDRESSES = 10_000  # that are remembered; the oldest are forgotten first
RANKS = {role: rank for rank, role in enumerate((AccessRole.VIEWER, AccessRole.OPERATOR, AccessRole.ADMIN))}
_FORWARDING_HEADERS = ("forwarded", "x-real-ip", "via")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="tickwise"'}
_MAX_TOKEN_LENGTH = 200


class FailedLoginLimiter:
    """Counts failed logins by address, in a window that begins with the first."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when, how many

    def wait(self, address: str) -> int:
        """Seconds until the address may try again; 0 if it may now."""
        since, failures = self._failed.get(address, (0.0, 0))
        left = since + WINDOW - self._clock()
        if left <= 0:
            self._failed.pop(address, None)
        return ceil(left) if failures >= MAX_FAILURES and left > 0 else 0

    def fail(self, address: str) -> None:
        since, failures = self._failed.pop(address, (self._clock(), 0))
        self._failed[address] = (since, failures + 1)
        while len(self._failed) > _MAX_ADDRESSES:
            self._failed.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a request comes from, and what they may do and see."""

    name: str
    role: AccessRole
    scopes: tuple[str, ...] = ()  # patterns of job names; none: all jobs

    def may(self, role: AccessRole) -> bool:
        return RANKS[self.role] >= RANKS[role]

    def sees(self, job: str) -> bool:
        return not self.scopes or any(fnmatchcase(job, pattern) for pattern in self.scopes)


class Authenticator:
    """Finds the identity of a request."""

    def __init__(self, access: AuthSettings, limiter: FailedLoginLimiter | None = None) -> None:
        self._access = access
        self._limiter = limiter or FailedLoginLimiter()

    def check_address(self, request: Request) -> None:
        """Refuse a request that a page of another site may have sent."""
        host = self._host(request)
        if request.headers.get("sec-fetch-site") == "cross-site":
            raise Refusal(403, "a page of another site asks: only pages of this host may")
        if not self._is_known_host(_host_name(host), request):
            raise Refusal(
                403, f"the host {host[:100]!r} is not one of ours: reach us as localhost, or allow it in `hosts`"
            )
        origin = request.headers.get("origin")
        if origin is not None and request.method not in _SAFE_METHODS and not _same_origin(origin, host):
            raise Refusal(403, f"a page of {origin[:100]!r} may change nothing here: use one of this host")

    async def identify(self, request: Request, store: Store) -> Identity:
        """The identity of a request; 401 if it has none."""
        given = request.headers.get("authorization")
        if given is None:
            return self._of_loopback(request)
        address = self._address(request)
        if wait := self._limiter.wait(address):
            raise Refusal(
                429,
                f"too many wrong tokens from {address}: try again in {wait} s",
                headers={"Retry-After": str(wait)},
            )
        try:
            return await self._of_token(given, store)
        except Refusal:
            self._limiter.fail(address)
            raise

    async def _of_token(self, given: str, store: Store) -> Identity:
        kind, _, secret = given.partition(" ")
        secret = secret.strip()
        if kind.lower() != "bearer" or not 0 < len(secret) <= _MAX_TOKEN_LENGTH:
            raise _unauthorized("the Authorization header must be: Bearer TOKEN")
        token = await store.access.token(digest(secret))
        if token is None:
            raise _unauthorized("nobody has this token: create one (tickwise token create)")
        await _check_valid(token, store)
        return Identity(token.name, token.role, token.scopes)

    def _of_loopback(self, request: Request) -> Identity:
        role, peer = self._access.without_token, _peer(request)
        if role is None or not is_loopback(peer):
            raise _unauthorized("a token is needed: send Authorization: Bearer TOKEN")
        if any(_is_forwarding(name) for name in request.headers):
            raise _unauthorized("a request that a proxy passed on needs a token: send Authorization: Bearer TOKEN")
        return Identity(self._access.name, role)

    def _address(self, request: Request) -> str:
        """The address a request comes from: as a trusted proxy says, else that of the connection."""
        peer = _peer(request)
        if peer in self._access.trusted_proxies:
            hops = [hop.strip() for hop in request.headers.get("x-forwarded-for", "").split(",")]
            clients = [hop for hop in hops if hop and hop not in self._access.trusted_proxies]
            return clients[-1][:100] if clients else peer
        return peer

    def _host(self, request: Request) -> str:
        """The host name that the client used, which a trusted proxy passes on."""
        named = request.headers.get("host", "")
        trusted = _peer(request) in self._access.trusted_proxies
        return request.headers.get("x-forwarded-host", named) if trusted else named

    def _is_known_host(self, name: str, request: Request) -> bool:
        server = request.scope.get("server")
        own: Iterable[str] = (*self._access.hosts, server[0] if server else "")
        return bool(name) and (is_loopback(name) or name in [one.lower() for one in own])


async def _check_valid(token: Token, store: Store) -> None:
    if token.revoked_at is not None:
        raise _unauthorized(f"the token {token.name!r} was revoked: create another")
    if token.expires_at is not None and token.expires_at <= await store.now():
        raise _unauthorized(f"the token {token.name!r} has expired: create another")


def _unauthorized(problem: str) -> Refusal:
    return Refusal(401, problem, headers=_CHALLENGE)


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def _is_forwarding(header: str) -> bool:
    return header in _FORWARDING_HEADERS or header.startswith("x-forwarded-")


def _host_name(host: str) -> str:
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
