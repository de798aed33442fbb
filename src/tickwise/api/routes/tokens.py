"""`/tokens`, `/links` and `/audit`: the tokens of the API, one-time links, and what was done with them."""

import secrets
from typing import Annotated
from uuid import uuid4

from fastapi import Path, Query, Request, Response

from ...app.records import MICRO, AccessRole, Token
from ...app.values import as_second
from ..context import Context
from ..problems import Refusal, about_field
from ..routing import Router
from ..schemas.common import NAME_PATTERN, PageResponse, page_of, to_moment
from ..schemas.fleet import (
    AuditEntryResponse,
    LinkRequest,
    LinkResponse,
    NewTokenResponse,
    TokenRequest,
    TokenResponse,
    TokensResponse,
)
from ..schemas.queries import AuditQuery
from ..session import create_link, is_browser, is_link
from ..token_file import digest

router = Router("access")
_TokenPath = Annotated[str, Path(pattern=f"^{NAME_PATTERN}$", description="The id of a token.")]


@router.get("/tokens", AccessRole.ADMIN, whole=True, response_model=TokensResponse)
async def list_tokens(context: Context) -> TokensResponse:
    """All that were ever issued, without their secrets; of links and sessions only those that are valid."""
    now = await context.view.now()
    known = await context.access.tokens()
    return TokensResponse(items=[_token_response(token) for token in known if not _is_past_session(token, now)])


def _is_past_session(token: Token, now: int) -> bool:
    is_over = token.revoked_at is not None or (token.expires_at is not None and token.expires_at <= now)
    return is_over and (is_link(token) or is_browser(token))


@router.post("/tokens", AccessRole.ADMIN, whole=True, status_code=201, response_model=NewTokenResponse)
async def create_token(body: TokenRequest, context: Context) -> NewTokenResponse:
    """A new token; its secret is in this answer and nowhere else."""
    now = await context.view.now() // MICRO
    with about_field("expires"):
        expires = None if body.expires is None else as_second(body.expires, now) * MICRO
    if expires is not None and expires <= now * MICRO:
        raise Refusal(422, "expires: it would have expired already", field="expires")
    secret = secrets.token_urlsafe(32)
    new = Token(id=uuid4().hex, name=body.name, role=body.role, scopes=tuple(body.scopes), expires_at=expires)
    token = await context.access.issue(new, digest(secret))
    await context.audit("token.create", token.name, None, {"id": token.id, **body.model_dump(mode="json")})
    return NewTokenResponse(**_token_response(token).model_dump(), secret=secret)


@router.post("/links", AccessRole.ADMIN, whole=True, status_code=201, response_model=LinkResponse)
async def create_sign_in_link(body: LinkRequest, context: Context) -> LinkResponse:
    """A link that signs one browser in, once, within ten minutes."""
    code, link = await create_link(context.access, await context.view.now(), body.role, context.identity.name)
    return LinkResponse.model_validate(
        {"code": code, "role": str(link.role), "expires_at": to_moment(link.expires_at)}
    )


@router.delete("/tokens/{token:name}", AccessRole.ADMIN, whole=True, response_model=TokenResponse)
async def revoke_token(token: _TokenPath, context: Context) -> TokenResponse:
    """Revoke it, for good."""
    if token not in {one.id for one in await context.access.tokens()}:
        raise Refusal(404, f"there is no token with the id {token!r}: see /api/v1/tokens")
    revoked = await context.access.revoke(token)
    await context.audit("token.revoke", revoked.name, None, {"id": token})
    return _token_response(revoked)


@router.get("/audit", AccessRole.ADMIN, whole=True, response_model=PageResponse[AuditEntryResponse])
async def list_audit(
    request: Request, response: Response, context: Context, query: Annotated[AuditQuery, Query()]
) -> PageResponse[AuditEntryResponse]:
    """Changes and the people or tokens that made them, the newest first."""
    page = await context.access.audit(query.subject, query.after, query.limit)
    rows = [AuditEntryResponse.model_validate({**row._asdict(), "at": to_moment(row.at)}) for row in page.items]
    return page_of(request, response, rows, page.after)


def _token_response(token: Token) -> TokenResponse:
    return TokenResponse.model_validate(
        {
            "id": token.id, "name": token.name, "role": str(token.role), "scopes": list(token.scopes),
            "created_at": to_moment(token.created_at), "expires_at": to_moment(token.expires_at),
            "revoked_at": to_moment(token.revoked_at), "used_at": to_moment(token.used_at),
        }
    )  # fmt: skip
