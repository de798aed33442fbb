"""Sessions of browsers: how a token is kept by a page, and one-time links that need no token.

A browser sends cookies to every port of a host, so on a shared machine the servers of other users get them too. So
the cookie is only one half of the token: the token XOR a random key. The page keeps the key in the storage of its
origin, which has a port, and sends it in a header, which no page of another origin can set (CSRF). Only both
halves make the token. The store keeps nothing of a session: it ends when its token is revoked or expires.

A link is a token that opens nothing itself: it is exchanged once, within minutes, for the token of a session.
"""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

from fastapi import Request, Response

from ..app.records import MICRO, AccessRole, AuditEntry, Token
from ..app.stores import Access, Store
from .problems import Refusal
from .token_file import digest

KEY_HEADER = "tickwise-session-key"
LINK_SECONDS = 600
_SESSION_SECONDS = 7 * 86_400
_LINK_PREFIX, _BROWSER_PREFIX = "link-", "browser-"  # of the ids of such tokens
_CLAIM_SECONDS = 3_600  # longer than a link lives
_MAX_PART = 400  # characters of a cookie or a key


class BrowserCookie(NamedTuple):
    """A cookie that is half a secret, and the seconds for which a browser keeps it."""

    name: str
    seconds: int


SESSION = BrowserCookie("tickwise-session", _SESSION_SECONDS)
SIGN_ON = BrowserCookie("tickwise-sign-on", LINK_SECONDS)


def split_secret(secret: str) -> tuple[str, str]:
    """Two halves of a secret, each of them random: for the cookie, and for the page."""
    whole = secret.encode()
    key = secrets.token_bytes(len(whole))
    return _encode_half(_xor(whole, key)), _encode_half(key)


def _join_halves(cookie: str, key: str) -> str | None:
    try:
        first, second = (urlsafe_b64decode(half + "=" * (-len(half) % 4)) for half in (cookie, key))
        return _xor(first, second).decode() if len(first) == len(second) else None
    except ValueError:
        return None


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))


def _encode_half(half: bytes) -> str:
    return urlsafe_b64encode(half).decode().rstrip("=")


def session_secret(request: Request, kind: BrowserCookie = SESSION) -> str | None:
    """The token of the session that a request belongs to; none if one of its halves is missing."""
    cookie, key = request.cookies.get(_cookie_name(request, kind)), request.headers.get(KEY_HEADER)
    if not cookie or not key or max(len(cookie), len(key)) > _MAX_PART:
        return None
    return _join_halves(cookie, key)


def set_session(
    request: Request, response: Response, cookie: str, *, secure: bool, kind: BrowserCookie = SESSION
) -> None:
    """Set the cookie of a session; an empty one ends it."""
    response.set_cookie(
        _cookie_name(request, kind), cookie, max_age=kind.seconds if cookie else 0, path=_cookie_path(request),
        secure=secure, httponly=True, samesite="strict",
    )  # fmt: skip


def _cookie_name(request: Request, kind: BrowserCookie) -> str:
    """A name for each port, since a cookie of one port would replace that of another."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{kind.name}-{port}" if port.isdecimal() else kind.name


def _cookie_path(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/"


def is_link(token: Token) -> bool:
    return token.id.startswith(_LINK_PREFIX)


def is_browser(token: Token) -> bool:
    return token.id.startswith(_BROWSER_PREFIX)


async def create_link(access: Access, now: int, role: AccessRole, by: str) -> tuple[str, Token]:
    """The code of a new link that signs a browser in once, and its token."""
    code, number = secrets.token_urlsafe(32), uuid4().hex
    until = now + LINK_SECONDS * MICRO
    link = Token(id=_LINK_PREFIX + number, name=f"sign-in link {number[:8]}", role=role, expires_at=until)
    made = await access.issue(link, digest(code))
    await access.record([AuditEntry(by, "link.create", made.name, None, {"role": str(role)})])
    return code, made


async def redeem_link(store: Store, code: str) -> str:
    """The secret of a new token for the browser that has this link; refused if it was used or has expired."""
    link = await store.access.token(digest(code))
    if link is None or not is_link(link):
        raise Refusal(401, "this link is not known: get a new one (tickwise token link)")
    now = await store.now()
    if link.expires_at is None or link.expires_at <= now:
        raise Refusal(401, "this link has expired: get a new one (tickwise token link)")
    used = link.revoked_at is not None or await store.access.claim(f"sign-in {link.id}", "used", _CLAIM_SECONDS)
    if used:
        raise Refusal(401, "this link was used already: get a new one (tickwise token link)")
    await store.access.revoke(link.id)
    until = now + _SESSION_SECONDS * MICRO
    return await open_session(store, Token("", "", link.role, expires_at=until), link.name, {})


async def open_session(store: Store, token: Token, subject: str, known: Mapping[str, Any]) -> str:
    """The secret of a new token for a browser; the audit says what is `known` of its person."""
    secret, number = secrets.token_urlsafe(32), uuid4().hex
    name = f"{token.name} (browser {number[:8]})" if token.name else f"browser {number[:8]}"
    token = await store.access.issue(replace(token, id=_BROWSER_PREFIX + number, name=name), digest(secret))
    await store.access.record([AuditEntry(name, "session.create", subject, None, {"id": token.id, **known})])
    return secret
