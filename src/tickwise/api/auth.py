"""Authentication: the identity and role of a request, by its token, its session or its connection.

An address has no role, loopback included: every user of the machine has it, and so has a proxy that passes on the
requests of everybody. A token is sent in a header, or by the session of a browser. Without one, a proxy that the
settings name says in a header who it is. Only two kinds of connection bring an identity: one inside this process,
and one over the unix socket. The Host header must be a known name,
since a browser can be led here under another name (DNS rebinding). A browser that changes something must come from
a page of this host (Origin).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from http import HTTPStatus
from ipaddress import ip_address
from math import ceil
from typing import TypeVar
from urllib.parse import urlsplit

from fastapi import Request

from ..app.records import Token
from ..app.stores import Store
from ..clock import monotonic
from ..log import get_logger
from .auth_settings import AuthSettings
from .coalesce import Coalescer
from .identity import Identity, connection_identity
from .loopback import is_loopback
from .problems import Refusal
from .session import is_link, session_secret
from .token_file import digest
from .trusted_header import header_identity

T = TypeVar("T")
MAX_FAILURES, WINDOW = 10, 60.0  # of one address, in so many seconds
_MAX_ADDRESSES = 10_000  # that are remembered; the oldest are forgotten first
_FORWARDING_HEADERS = ("forwarded", "x-real-ip", "via")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="tickwise"'}
_MAX_TOKEN_LENGTH = 200
_log = get_logger()


class FailedLoginLimiter:
    """Counts failed logins by address, in a window that begins with the first."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when, how many

    def wait(self, address: str) -> int:
        """Seconds until the failures of the address are forgotten, if they are too many; else 0."""
        since, failures = self._failed.get(address, (0.0, 0))
        left = since + WINDOW - self._clock()
        return ceil(left) if failures > MAX_FAILURES and left > 0 else 0

    def fail(self, address: str) -> int:
        """Count a failure; how many there are in the window."""
        since, failures = self._failed.pop(address, (self._clock(), 0))
        if since + WINDOW <= self._clock():
            since, failures = self._clock(), 0
        self._failed[address] = (since, failures + 1)
        while len(self._failed) > _MAX_ADDRESSES:
            self._failed.popitem(last=False)
        return failures + 1


class Authenticator:
    """Finds the identity of a request."""

    def __init__(self, access: AuthSettings, limiter: FailedLoginLimiter | None = None) -> None:
        self.access = access
        self._limiter = limiter or FailedLoginLimiter()
        self._tokens = Coalescer[Token]()

    def check_address(self, request: Request) -> None:
        """Refuse a request that a page of another site may have sent."""
        if request.headers.get("sec-fetch-site") == "cross-site":
            raise Refusal(403, "a page of another site asks: only pages of this host may")
        *_, host = hosts = list(self._hosts(request))
        for name in hosts:
            if not self._is_known_host(_host_name(name), request):
                raise Refusal(
                    403,
                    f"the host {name[:100]!r} is not one of ours: reach us as localhost, or allow it in `hosts`",
                )
        origin = request.headers.get("origin")
        if origin is not None and request.method not in _SAFE_METHODS and not _same_origin(origin, host):
            raise Refusal(403, f"a page of {origin[:100]!r} may change nothing here: use one of this host")

    async def identify(self, request: Request, store: Store) -> Identity:
        """The identity of a request; 401 if it has none."""
        token = await self.token(request, store)
        if token is not None:
            return Identity(token.name, token.role, token.scopes)
        trusted = self.access.trusted_header
        if named := header_identity(request, trusted):
            return named
        identity = connection_identity(request.scope)
        if identity is None:
            raise _unauthorized("a token is needed: send Authorization: Bearer TOKEN, or sign in")
        ours = trusted.names if trusted else frozenset()
        if any(_is_forwarding(name) or name in ours for name in request.headers):
            raise _unauthorized("a request that a proxy passed on needs a token: send Authorization: Bearer TOKEN")
        return identity

    async def token(self, request: Request, store: Store) -> Token | None:
        """The valid token that a request has in its header, else in its session; none if it has neither."""
        given = request.headers.get("authorization")
        if given is not None:
            login = self._tokens.answer((store, given), lambda: _token_of_header(given, store))
            return await self.count_failure(request, login)
        secret = session_secret(request)
        if secret is None:
            return None
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refusal(403, "a session belongs to the page that it was opened in: use that page")
        return await self.count_failure(request, valid_token(secret, store))

    async def count_failure(self, request: Request, login: Awaitable[T]) -> T:
        """The result of a login. A refusal is counted and logged; after too many the address is told to wait."""
        try:
            return await login
        except Refusal as refusal:
            if refusal.http_status != HTTPStatus.UNAUTHORIZED:
                raise
            address = self._address(request)
            if self._limiter.fail(address) == 1:
                _log.warning("login refused", address=address, problem=str(refusal))
            if wait := self._limiter.wait(address):
                later = {"Retry-After": str(wait)}
                text = f"too many wrong tokens from {address}: try again in {wait} s"
                raise Refusal(429, text, headers=later) from None
            raise

    def is_secure(self, request: Request) -> bool:
        """Whether the browser speaks TLS, to us or to a trusted proxy."""
        scheme = request.headers.get("x-forwarded-proto") if self._is_trusted(request) else None
        return (scheme or request.scope["scheme"]) == "https"

    def _is_trusted(self, request: Request) -> bool:
        return peer_of(request) in self.access.trusted_proxies

    def _address(self, request: Request) -> str:
        """The address a request comes from: as a trusted proxy says, else that of the connection."""
        peer = peer_of(request)
        if not self._is_trusted(request):
            return peer or "this machine"
        hops = [hop.strip() for hop in request.headers.get("x-forwarded-for", "").split(",")]
        clients = [hop for hop in hops if hop not in self.access.trusted_proxies and _is_address(hop)]
        return clients[-1] if clients else peer

    def _hosts(self, request: Request) -> Iterator[str]:
        """Every host name that a request is for; the last is the one that the client used."""
        yield request.headers.get("host", "")
        forwarded = request.headers.get("x-forwarded-host")
        if forwarded is not None and self._is_trusted(request):
            yield forwarded

    def _is_known_host(self, name: str, request: Request) -> bool:
        server = request.scope.get("server")
        own: Iterable[str] = (*self.access.hosts, server[0] if server else "")
        return bool(name) and (is_loopback(name) or name in [one.lower() for one in own])


async def _token_of_header(given: str, store: Store) -> Token:
    return await valid_token(_secret_of_header(given), store)


def _secret_of_header(given: str) -> str:
    kind, _, secret = given.partition(" ")
    secret = secret.strip()
    if kind.lower() != "bearer" or not secret:
        raise _unauthorized("the Authorization header must be: Bearer TOKEN")
    return secret


def bearer_secret(request: Request, problem: str) -> str:
    """What a request has in its Authorization header; 401 with this problem if it has none."""
    given = request.headers.get("authorization")
    if given is None:
        raise _unauthorized(problem)
    return _secret_of_header(given)


async def valid_token(secret: str, store: Store) -> Token:
    """The token of a secret; 401 if it opens nothing."""
    token = await store.access.token(digest(secret)) if 0 < len(secret) <= _MAX_TOKEN_LENGTH else None
    if token is None:
        raise _unauthorized("nobody has this token: create one (tickwise token create)")
    if is_link(token):
        raise _unauthorized("this is the code of a link, not a token: open the link in a browser")
    if token.revoked_at is not None:
        raise _unauthorized(f"the token {token.name!r} was revoked: create another")
    if token.expires_at is not None and token.expires_at <= await store.now():
        raise _unauthorized(f"the token {token.name!r} has expired: create another")
    return token


def _unauthorized(problem: str) -> Refusal:
    return Refusal(401, problem, headers=_CHALLENGE)


def peer_of(request: Request) -> str:
    """The address that a connection comes from; none over a unix socket."""
    return request.client.host if request.client else ""


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


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
