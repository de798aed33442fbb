"""The OpenID provider: its metadata and keys, and what it answers when a code is exchanged.

Nothing of an answer is believed before its signature and claims are checked. The algorithms are ours: a token that
is not signed, or signed with a text that both sides know, is none. The provider is asked over https only.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import httpx2
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key, KeySet, import_key

from ..clock import monotonic
from ..core.errors import InputError
from ..log import get_logger
from ..runtime.executors.http import tls
from ..runtime.secret_providers import SecretProviders
from ..sign_on_settings import OidcSettings, is_safe_address
from .problems import Refusal

_ALGORITHMS = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
]  # fmt: skip
_PLACES = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_OPTIONAL_PLACES = ("userinfo_endpoint", "end_session_endpoint")
_KEY_TYPES = frozenset({"RSA", "EC", "OKP"})  # those with a public half
_LEEWAY = 60  # seconds by which the clocks of the two may differ
_FRESH = 3_600.0  # seconds for which metadata and keys are used
_TIMEOUT = 10.0
_MAX_ANSWER = 1 << 20  # bytes
_MAX_REQUESTS = 8  # at once: everybody may ask for one
_DAMAGED = (JoseError, ValueError, TypeError, LookupError)  # what the parts of tokens and keys raise
_log = get_logger()


class ProviderMetadata(NamedTuple):
    """What is needed of the provider's discovery document."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""  # where a browser signs out
    posts_secret: bool = False  # in the body, and not in the header Authorization
    says_issuer: bool = False  # in each answer to a browser (RFC 9207)


class OidcProvider:
    """The provider of the settings."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._secret = SecretProviders({"client_secret": settings.client_secret})
        self._metadata: tuple[float, ProviderMetadata] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._requests = asyncio.Semaphore(_MAX_REQUESTS)

    async def metadata(self) -> ProviderMetadata:
        if self._metadata is None or self._metadata[0] + _FRESH <= monotonic():
            place = f"{self._settings.issuer.removesuffix('/')}/.well-known/openid-configuration"
            self._metadata = monotonic(), self._read_metadata(await self._ask("GET", place))
        return self._metadata[1]

    def _read_metadata(self, document: Mapping[str, Any]) -> ProviderMetadata:
        if document.get("issuer") != self._settings.issuer:
            shown = str(document.get("issuer"))[:200]
            raise _unusable(f"it calls itself {shown!r}, and [oidc] issuer is {self._settings.issuer!r}")
        given = [name for name in _OPTIONAL_PLACES if name in document]
        places = {name: document.get(name) for name in (*_PLACES, *given)}
        for name, address in places.items():
            if not isinstance(address, str) or not is_safe_address(address):
                raise _unusable(f"its {name} is {str(address)[:200]!r}, and must begin with https://")
        methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        return ProviderMetadata(
            **{name: str(address) for name, address in places.items()},
            posts_secret="client_secret_basic" not in methods,
            says_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        )  # fmt: skip

    async def exchange(self, code: str, verifier: str, redirect: str) -> Mapping[str, Any]:
        """The tokens of a code; 401 if the provider knows no such code for us."""
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
            "code_verifier": verifier, "client_id": self._settings.client_id,
        }  # fmt: skip
        address, posts_secret = (metadata := await self.metadata()).token_endpoint, metadata.posts_secret
        options: dict[str, Any] = {}
        if self._settings.client_secret:
            secret = await self.secret()
            if posts_secret:
                form["client_secret"] = secret
            else:
                options["auth"] = httpx2.BasicAuth(quote_plus(self._settings.client_id), quote_plus(secret))
        return await self._ask("POST", address, data=form, **options)

    async def secret(self) -> str:
        """The client secret, read anew each time."""
        try:
            return (await self._secret.values(["client_secret"]))["client_secret"]
        except InputError as error:
            _log.error("the client secret of [oidc] is not to be had", problem=str(error))
            raise _unusable("the server has no client secret for it, and its log says why") from None

    async def claims(self, tokens: Mapping[str, Any], nonce: str, now: int) -> dict[str, Any]:
        """What the ID token says, once it is known to be of this provider, for us and for this sign-on."""
        text = tokens.get("id_token")
        if not isinstance(text, str) or len(text) > _MAX_ANSWER:
            raise Refusal(401, "the provider sent no ID token: is `openid` in the scope?")
        try:
            token = await self._decoded(text)
            options: Any = {
                "iss": {"essential": True, "value": self._settings.issuer},
                "aud": {"essential": True, "value": self._settings.client_id},
                "sub": {"essential": True}, "nonce": {"essential": True},
            }  # fmt: skip
            params = {"nonce": nonce, "client_id": self._settings.client_id}
            claims = CodeIDToken(token.claims, token.header, options, params)
            claims.validate(now, _LEEWAY)
        except _DAMAGED as error:
            raise Refusal(401, f"the provider's ID token is not accepted: {error}") from None
        return await self._with_groups(dict(claims), tokens)

    async def _decoded(self, text: str) -> jwt.Token:
        """The token, if a key of the provider has signed it; keys that have changed are read again."""
        if self._keys is not None and self._keys[0] + _FRESH > monotonic():
            try:
                return jwt.decode(text, self._keys[1], algorithms=_ALGORITHMS)
            except _DAMAGED:
                pass
        return jwt.decode(text, await self._read_keys(), algorithms=_ALGORITHMS)

    async def _read_keys(self) -> KeySet:
        document = await self._ask("GET", (await self.metadata()).jwks_uri)
        self._keys = monotonic(), KeySet(list(_public_keys(document.get("keys"))))
        return self._keys[1]

    async def check(self) -> None:
        """Refused if nobody could sign in: the provider does not answer, or something is missing there or here."""
        if not (await self._read_keys()).keys:
            raise _unusable("it has no key that could sign")
        if self._settings.client_secret:
            await self.secret()

    async def _with_groups(self, claims: dict[str, Any], tokens: Mapping[str, Any]) -> dict[str, Any]:
        """The claims, with the groups that some providers tell only at another address."""
        place, token = (await self.metadata()).userinfo_endpoint, tokens.get("access_token")
        if self._settings.groups_claim in claims or not place or not isinstance(token, str):
            return claims
        told = await self._ask("GET", place, headers={"Authorization": f"Bearer {token}"})
        if told.get("sub") != claims["sub"]:
            raise Refusal(401, "the provider's user information is about somebody else")
        return {**told, **claims}

    async def _ask(self, method: str, address: str, **given: Any) -> Mapping[str, Any]:
        """The JSON object at an address; a refusal of a POST is that of a code."""
        try:
            async with (
                self._requests,
                asyncio.timeout(_TIMEOUT),
                httpx2.AsyncClient(verify=tls(), timeout=_TIMEOUT, follow_redirects=False) as client,
                client.stream(method, address, headers=given.pop("headers", {}), **given) as answer,
            ):
                body = b""
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > _MAX_ANSWER:
                        raise _unusable(f"{address} sent more than 1 MiB")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
            raise _unusable(f"{address} does not answer ({type(error).__name__})") from None
        if method == "POST" and answer.status_code in (400, 401, 403):
            raise Refusal(401, f"the provider does not accept this sign-on ({_error_of(body)}): sign in again")
        try:
            document = json.loads(body) if answer.status_code == 200 else None
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise _unusable(f"{address} answered {answer.status_code}, and no JSON object")
        return document


def _public_keys(listed: Any) -> Iterator[Key]:
    """The keys that may have signed; those of a kind that nobody here knows are left out."""
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("kty") in _KEY_TYPES and one.get("use", "sig") == "sig":
            with suppress(*_DAMAGED):
                yield import_key(one)


def _error_of(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])[:100]
    except (ValueError, KeyError, TypeError):
        return "no reason given"


def _unusable(problem: str) -> Refusal:
    return Refusal(502, f"the sign-on provider cannot be used: {problem}")
