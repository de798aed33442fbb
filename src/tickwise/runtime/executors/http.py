"""One HTTP request. A status below 400 is a success; the answer goes into the log, up to a bound."""

import ssl
from functools import cache

import httpx

from ...core.definition import HttpCall
from ...core.errors import InputError
from ...core.settle import Succeeded
from ..step_context import StepContext
from .address import AddressPolicy
from .log import BOUND, OUT, Sink
from .result import AttemptResult, failed

_MOST_REDIRECTS = 5
_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60  # if the step has no timeout
_SHOWN = 500  # of a bad answer, in the error


class CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects to the address that was checked, for every request of a chain of redirects.

    The name is resolved once, by the policy; the connection is made to that number, with the name only in the Host
    header and in TLS. So a name that resolves differently the second time gains nothing.
    """

    def __init__(self, policy: AddressPolicy) -> None:
        limits = httpx.Limits(max_keepalive_connections=0)  # a kept connection may belong to another name
        super().__init__(verify=tls(), limits=limits)
        self._policy = policy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.raw_host.decode("ascii")
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        *others, last = await self._policy.resolve(host, port)
        for address in others:
            try:
                return await super().handle_async_request(_to(request, address, host))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await super().handle_async_request(_to(request, last, host))


def _to(request: httpx.Request, address: str, host: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


@cache
def tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # SSL_CERT_FILE and SSL_CERT_DIR add authorities


async def send(call: HttpCall, here: StepContext) -> AttemptResult:
    """Send it and wait for the answer. Raises InputError if it cannot go to where it is sent."""
    headers = _headers(call, here)
    timeout = httpx.Timeout(here.timeout or _ANSWER_SECONDS, connect=_CONNECT_SECONDS)
    client = httpx.AsyncClient(
        transport=CheckedTransport(here.tools.addresses),
        timeout=timeout,
        follow_redirects=True,
        max_redirects=_MOST_REDIRECTS,
        trust_env=False,
    )
    what = f"{call.method} {_shown(call.url)}"
    try:
        async with client, client.stream(call.method, call.url, headers=headers, content=call.body) as answer:
            here.log.say(f"{what}: {answer.status_code} {answer.reason_phrase}")
            beginning = await _read(answer, here.log)
    except httpx.InvalidURL as error:
        raise InputError(f"{_shown(call.url)} is not a web address: {error}") from None
    except httpx.TimeoutException as error:
        return failed(f"{what}: no answer in time ({type(error).__name__})")
    except httpx.TooManyRedirects:
        return failed(f"{what}: redirected more than {_MOST_REDIRECTS} times")
    except httpx.HTTPError as error:
        return failed(f"{what}: {str(error) or type(error).__name__}")
    if answer.status_code < 400:
        return AttemptResult(Succeeded())
    return failed(f"{what}: {answer.status_code} {answer.reason_phrase}\n{beginning}".rstrip())


def _headers(call: HttpCall, here: StepContext) -> httpx.Headers:
    headers = httpx.Headers({"Accept-Encoding": "identity", **here.context.headers()})
    try:
        headers.update(call.headers)
    except UnicodeError as error:
        raise InputError(f"the headers for {_shown(call.url)} must be plain ASCII: {error}") from None
    return headers


async def _read(answer: httpx.Response, log: Sink) -> str:
    """Log the answer up to a bound, and return its beginning."""
    size, beginning = 0, b""
    async for data in answer.aiter_raw(16_384):
        log.feed(OUT, data)
        beginning += data[: _SHOWN - len(beginning)]
        size += len(data)
        if size >= BOUND:
            log.say(f"the answer is longer than {size:,} bytes: the rest is left out")
            break
    return beginning.decode("utf-8", "replace")


def _shown(url: str) -> str:
    """The address without what may be secret in it."""
    try:
        return str(httpx.URL(url).copy_with(userinfo=None, query=None, fragment=None))
    except httpx.InvalidURL:
        return url[:60]
