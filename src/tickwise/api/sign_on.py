"""Signing in at an OpenID provider: the authorization code flow, with nothing kept between its two requests.

A browser that begins gets a random secret in two halves, as a session's token is (`session.py`): a cookie that no
script reads, and a key that only pages of this origin have. State, nonce and the verifier of PKCE are derived from
it. So the answer of the provider is good only in the browser that began, whichever process of ours it reaches:
nobody can be signed in as somebody else by a link (login CSRF), and a code that was seen on the way opens nothing.

The provider sends the browser to a page of ours, and that page sends us the answer. So each request of ours comes
from a page of this origin, and both cookies are SameSite=Strict. Where the browser goes afterwards is known to
the page alone: no address of a request or an answer leads anywhere.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from ..extras import packages_of
from ..role_grants import GrantedRole, granted_role
from ..sign_on_settings import OidcSettings
from .problems import Refusal
from .trusted_header import no_role, person_name

CALLBACK = "/sign-on"  # where the provider sends the browser: a page
_BEGIN_AGAIN = "begin again on the sign-in page"


class ProviderAnswer(NamedTuple):
    """What the provider has told the page, in its address."""

    state: str
    code: str = ""
    error: str = ""
    issuer: str = ""


class SignedOnPerson(NamedTuple):
    """A person whom the provider knows, and what they may do here."""

    name: str
    subject: str
    granted: GrantedRole


class SignOn:
    """The sign-on of the settings."""

    def __init__(self, settings: OidcSettings) -> None:
        with packages_of("oidc", "[oidc]"):
            from .oidc_provider import OidcProvider  # noqa: PLC0415  (authlib, which nothing else needs)
        self.settings = settings
        self.provider = OidcProvider(settings)

    async def begin(self, redirect: str) -> tuple[str, str]:
        """The address at the provider where a person signs in, and the secret of the browser."""
        place, secret = (await self.provider.metadata()).authorization_endpoint, secrets.token_urlsafe(32)
        asked = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": redirect,
            "scope": self.settings.scope, "state": state_of(secret), "nonce": _derive(secret, "nonce"),
            "code_challenge": _base64url(sha256(_derive(secret, "verifier").encode()).digest()),
            "code_challenge_method": "S256",
        }  # fmt: skip
        return _with_query(place, asked), secret

    async def sign_out_address(self) -> str | None:
        """Where a person signs out at the provider (OpenID RP-initiated logout); none if it has no such place.

        We keep no ID token, so the provider knows the client only, and asks the person.
        """
        with suppress(Refusal):  # of a provider that does not answer: the session here has ended all the same
            if place := (await self.provider.metadata()).end_session_endpoint:
                return _with_query(place, {"client_id": self.settings.client_id})
        return None

    async def finish(self, secret: str, answer: ProviderAnswer, redirect: str, now: int) -> SignedOnPerson:
        """The person who has signed in; refused unless the answer is one to this browser, and they have a role."""
        if not hmac.compare_digest(answer.state.encode(), state_of(secret).encode()):
            raise Refusal(401, f"this answer belongs to no sign-on of this browser: {_BEGIN_AGAIN}")
        says_issuer = (await self.provider.metadata()).says_issuer
        if (answer.issuer or says_issuer) and answer.issuer != self.settings.issuer:
            raise Refusal(401, f"this answer is of another provider: {_BEGIN_AGAIN}")
        if not answer.code:
            raise Refusal(401, f"the provider has refused ({answer.error or 'no reason given'}): {_BEGIN_AGAIN}")
        tokens = await self.provider.exchange(answer.code, _derive(secret, "verifier"), redirect)
        claims = await self.provider.claims(tokens, _derive(secret, "nonce"), now)
        return self._person(claims)

    def _person(self, claims: Mapping[str, Any]) -> SignedOnPerson:
        subject, named = claims["sub"], claims.get(self.settings.name_claim)
        name = person_name(named if isinstance(named, str) and named.strip() else subject)
        granted = granted_role(self.settings.roles, _groups(claims.get(self.settings.groups_claim)))
        if granted is None:
            raise no_role(name, "[oidc]")
        return SignedOnPerson(name, subject, granted)


def _with_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(query)}"


def state_of(secret: str) -> str:
    return _derive(secret, "state")


def _derive(secret: str, purpose: str) -> str:
    """A text that says nothing of the secret, nor of those of other purposes."""
    return _base64url(hmac.digest(secret.encode(), f"tickwise sign-on {purpose}".encode(), "sha256"))


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _groups(claim: Any) -> frozenset[str]:
    listed = [claim] if isinstance(claim, str) else claim
    return frozenset(one for one in listed if isinstance(one, str)) if isinstance(listed, list) else frozenset()
