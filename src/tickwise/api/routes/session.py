"""`/session`: a browser signs in with a one-time link or a token, and signs out."""

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from ...app.stores import Store
from ..auth import Authenticator, peer_of, valid_token
from ..auth_settings import AuthSettings
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import RequestModel, ResponseModel
from ..session import is_browser, redeem_link, set_session, split_secret

router = Router("session")


class SessionRequest(RequestModel):
    """The code of a link, or a token."""

    code: str | None = Field(default=None, max_length=200)
    token: str | None = Field(default=None, max_length=200)


class SessionResponse(ResponseModel):
    """The half of the token that the page keeps; the other half is the cookie."""

    key: str


class SignedOutResponse(ResponseModel):
    """Where the person may sign out as well: at the OpenID provider, if it has such a page."""

    provider: str | None


class SignInWaysResponse(ResponseModel):
    """How people can sign in here besides with a token or a link."""

    provider: str | None
    is_known: bool


@router.get("/session", None, include_in_schema=False, response_model=SignInWaysResponse)
async def ways_to_sign_in(request: Request) -> SignInWaysResponse:
    """What the page offers: the OpenID provider; or nothing, if a proxy says already who it is."""
    access: AuthSettings = request.app.state.authenticator.access
    trusted, provider = access.trusted_header, access.oidc
    is_known = trusted is not None and trusted.is_from(peer_of(request)) and trusted.user in request.headers
    return SignInWaysResponse(provider=provider.button if provider else None, is_known=is_known)


@router.post("/session", None, include_in_schema=False, status_code=201, response_model=SessionResponse)
async def sign_in(body: SessionRequest, request: Request, response: Response) -> SessionResponse:
    """Begin a session: its cookie, and the key that each of its requests sends in a header."""
    state: Any = request.app.state
    authenticator: Authenticator = state.authenticator
    secret = await authenticator.count_failure(request, _secret_of(body, await state.tickwise.store()))
    cookie, key = split_secret(secret)
    set_session(request, response, cookie, secure=authenticator.is_secure(request))
    return SessionResponse(key=key)


async def _secret_of(body: SessionRequest, store: Store) -> str:
    if body.code:
        return await redeem_link(store, body.code)
    if not body.token:
        raise Refusal(422, "send the code of a link, or a token", field="code")
    await valid_token(body.token, store)
    return body.token


@router.delete("/session", None, include_in_schema=False, response_model=SignedOutResponse)
async def sign_out(request: Request, response: Response) -> SignedOutResponse:
    """End the session. The token of a link is revoked; another token stays valid elsewhere."""
    state: Any = request.app.state
    store = await state.tickwise.store()
    token = await state.authenticator.token(request, store)
    if token is not None and is_browser(token):
        await store.access.revoke(token.id)
    set_session(request, response, "", secure=state.authenticator.is_secure(request))
    ended = token is not None and is_browser(token) and state.sign_on is not None
    return SignedOutResponse(provider=await state.sign_on.sign_out_address() if ended else None)
