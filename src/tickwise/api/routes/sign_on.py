"""`/sign-on`: a browser signs in at the OpenID provider of the settings, and comes back with a session."""

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from ...app.records import MICRO, Token
from ..auth import Authenticator
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import RequestModel, ResponseModel
from ..session import SIGN_ON, open_session, session_secret, set_session, split_secret
from ..sign_on import CALLBACK, ProviderAnswer, SignedOnPerson, SignOn, state_of
from .dashboard import dashboard
from .session import SessionResponse

router = Router("session")
_CLAIM_SECONDS = 86_400  # longer than a code of a provider is good for
router.get(CALLBACK, None, include_in_schema=False)(dashboard)


class SignOnStartResponse(ResponseModel):
    """Where the browser goes, and the half of its secret that the page keeps; the other half is a cookie."""

    address: str
    key: str


class SignOnRequest(RequestModel):
    """What the provider has put into the address of the page."""

    state: str = Field(max_length=200)
    code: str = Field(default="", max_length=4_000)
    error: str = Field(default="", max_length=200)
    issuer: str = Field(default="", max_length=1_000)


@router.post(f"{CALLBACK}:begin", None, include_in_schema=False, response_model=SignOnStartResponse)
async def begin_sign_on(request: Request, response: Response) -> SignOnStartResponse:
    """Begin; nothing is kept but in the browser."""
    address, secret = await _sign_on(request).begin(_redirect(request))
    cookie, key = split_secret(secret)
    set_session(request, response, cookie, secure=_authenticator(request).is_secure(request), kind=SIGN_ON)
    return SignOnStartResponse(address=address, key=key)


@router.post(f"{CALLBACK}:finish", None, include_in_schema=False, status_code=201, response_model=SessionResponse)
async def finish_sign_on(body: SignOnRequest, request: Request, response: Response) -> SessionResponse:
    """Begin the session of the person whom the provider has let in."""
    authenticator = _authenticator(request)
    secret = await authenticator.count_failure(request, _session_of(request, ProviderAnswer(**body.model_dump())))
    cookie, key = split_secret(secret)
    secure = authenticator.is_secure(request)
    set_session(request, response, cookie, secure=secure)
    set_session(request, response, "", secure=secure, kind=SIGN_ON)
    return SessionResponse(key=key)


async def _session_of(request: Request, answer: ProviderAnswer) -> str:
    sign_on, own = _sign_on(request), session_secret(request, SIGN_ON)
    if own is None:
        raise Refusal(401, "this browser has begun no sign-on: begin again on the sign-in page")
    state: Any = request.app.state
    store = await state.tickwise.store()
    now = await store.now()
    person: SignedOnPerson = await sign_on.finish(own, answer, _redirect(request), now // MICRO)
    if await store.access.claim(f"sign-on {state_of(own)}", "used", _CLAIM_SECONDS):
        raise Refusal(401, "this sign-on was used already: begin again on the sign-in page")
    role, scopes = person.granted
    token = Token("", person.name, role, scopes, expires_at=now + sign_on.settings.session * MICRO)
    known = {"sub": person.subject, "issuer": sign_on.settings.issuer, "role": str(role), "scopes": list(scopes)}
    return await open_session(store, token, person.name, known)


def _sign_on(request: Request) -> SignOn:
    found: SignOn | None = request.app.state.sign_on
    if found is None:
        raise Refusal(404, "this server has no [oidc]: sign in with a token or a link")
    return found


def _redirect(request: Request) -> str:
    """The address of our page, as the browser has it."""
    origin = request.headers.get("origin")
    if origin is None:
        raise Refusal(403, "only a page of this host can sign in: the request has no Origin")
    return f"{origin}{request.scope.get('root_path', '')}{CALLBACK}"


def _authenticator(request: Request) -> Authenticator:
    found: Authenticator = request.app.state.authenticator
    return found
