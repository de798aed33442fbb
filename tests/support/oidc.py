"""A strict OpenID provider for the tests of the protocol, and a browser that signs in there.

It checks what a good provider checks: the client and its secret, the address to come back to, the verifier of
PKCE, and that a code is used once. A test says what it does wrong: another claim, key, algorithm or document.
"""

import asyncio
import base64
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tickwise.api.server import listen

from .api import Api

CLIENT, SECRET = "tickwise", "s3cret of the client/+"
ORIGIN = "http://localhost:8484"
KEY = "Tickwise-Session-Key"
_ALGORITHMS = {"RSA": "RS256", "EC": "ES256"}


@cache
def _first_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


class Provider:
    """A provider; its fields say what it tells next."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.redirects = {f"{ORIGIN}/sign-on"}
        self.key: RSAKey | ECKey = _first_key()
        self.claims: dict[str, Any] = {"sub": "u1", "preferred_username": "ada", "groups": ["etl"]}
        self.user: dict[str, Any] = {}  # what only the user information has
        self.document: dict[str, Any] = {}  # of discovery, besides what is right
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.times: dict[str, int] = {}  # of issue and expiry
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
                Route("/me", self._user),
            ]
        )

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": _ALGORITHMS[self.key.key_type], "kid": self.key.kid}, claims, self.key)

    def public_key(self) -> bytes:
        """As everybody can have it."""
        return self.key.as_bytes("PEM", private=False)

    def rotate(self) -> None:
        self.key = ECKey.generate_key("P-256", {"kid": secrets.token_hex(4), "use": "sig"})

    def let_in(self, address: str) -> dict[str, str]:
        """What a browser brings back that went to this address, and whose person has signed in there."""
        given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert (given["client_id"], given["response_type"]) == (CLIENT, "code")
        assert given["redirect_uri"] in self.redirects, "an address that nobody has registered"
        assert given["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self._codes[code] = given
        return {"code": code, "state": given["state"], "issuer": self.issuer}

    async def _discovery(self, _: Request) -> Response:
        right = {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/me", "authorization_response_iss_parameter_supported": True,
        }  # fmt: skip
        return JSONResponse({**right, **self.document})

    async def _keys(self, _: Request) -> Response:
        self.asked.append("keys")
        foreign = {"kty": "EC", "crv": "P-0", "kid": "odd", "x": "AA", "y": "AA"}
        return JSONResponse({"keys": [foreign, self.key.as_dict(private=False)]})

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        given = self._codes.pop(form.get("code", ""), None)
        if not self._is_client(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        if given is None or form["redirect_uri"] != given["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if _challenge(form.get("code_verifier", "")) != given["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = {"iss": self.issuer, "aud": CLIENT, "nonce": given["nonce"], **self.times, **self.claims}
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        return JSONResponse({"access_token": "of ada", "token_type": "Bearer", "id_token": token})

    def _is_client(self, request: Request, form: dict[str, str]) -> bool:
        if "client_secret" in form:
            return (form.get("client_id"), form["client_secret"]) == (CLIENT, SECRET)
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        user, _, password = base64.b64decode(text).decode().partition(":")
        return kind == "Basic" and (user, password) == (CLIENT, "s3cret+of+the+client%2F%2B")

    async def _user(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer of ada"
        return JSONResponse({"sub": self.claims["sub"], **self.user})


def _challenge(verifier: str) -> str:
    assert len(verifier) >= 43
    return _encode(sha256(verifier.encode()).digest())


def forged(head: dict[str, Any], claims: dict[str, Any], key: bytes) -> str:
    """A token as a forger writes it: with HMAC and a key that is no secret, or with no signature."""
    signed = f"{_encode(json.dumps(head).encode())}.{_encode(json.dumps(claims).encode())}"
    return f"{signed}.{_encode(hmac.digest(key, signed.encode(), 'sha256')) if key else ''}"


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """A provider that answers on a port of its own."""
    listener = listen("127.0.0.1", 0)
    made = Provider(listener.getsockname()[1])
    config = uvicorn.Config(made.app, log_config=None, lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined,method-assign,unused-ignore]
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield made
    finally:
        server.should_exit = True
        await task


class SignOnBrowser(httpx2.AsyncClient):
    """Somebody with a browser, whose pages send the key of the sign-on and then that of the session."""

    def __init__(self, here: Api, peer: str = "127.0.0.1", path: str = "") -> None:
        transport = httpx2.ASGITransport(app=here.app, client=(peer, 50_000))
        super().__init__(transport=transport, base_url=ORIGIN + path, headers={"Origin": ORIGIN})
        self.key = ""

    async def begin(self) -> str:
        """The address at the provider."""
        begun = await self.post("/sign-on:begin")
        assert begun.status_code == 200, begun.text
        self.key = begun.json()["key"]
        address: str = begun.json()["address"]
        return address

    async def finish(self, answer: dict[str, str]) -> httpx2.Response:
        """Send the provider's answer; its session begins if it is accepted."""
        done = await self.post("/sign-on:finish", json=answer, headers={KEY: self.key})
        if done.status_code == 201:
            self.key = done.json()["key"]
        return done

    async def sign_on(self, at: Provider) -> httpx2.Response:
        return await self.finish(at.let_in(await self.begin()))

    async def ask(self, method: str, path: str, **given: Any) -> httpx2.Response:
        return await self.request(method, f"/api/v1{path}", headers={KEY: self.key}, **given)
