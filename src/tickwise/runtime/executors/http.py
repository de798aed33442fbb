"""One HTTP request. A status below 400 is a success; the response goes into the log, up to a limit."""

import ssl
from functools import cache, partial

import httpx2

from ...core.definition import HttpCall
from ...core.errors import InputError
from ...core.settle import Succeeded
from ..step_context import StepContext
from .address import AddressPolicy
from .log import HEAD_SIZE, OUT
from .result import AttemptResult, failed

_MAX_REDIRECTS = 5
_CONNECT_TIMEOUT = 10  # seconds
_RESPONSE_TIMEOUT = 60  # seconds, if the step has no timeout
_HARMLESS_HEADERS = frozenset({"host", "accept", "accept-encoding", "connection", "user-agent"})
_EXCERPT = 500  # bytes of a bad response, in the error


class CheckedTransport(httpx2.AsyncHTTPTransport):
    """Connects to the address that was checked, for every request of a redirect chain.

    The policy resolves the name once. The connection goes to that address; the name is used only in the Host
    header and in TLS. So a name that resolves differently the second time gains nothing.
    """

    def __init__(self, policy: AddressPolicy) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)  # a kept connection may belong to another name
        super().__init__(verify=tls(), limits=limits)
        self._policy = policy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.raw_host.decode("ascii")
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        *others, last = await self._policy.resolve(host, port)
        for address in others:
            try:
                return await super().handle_async_request(_with_address(request, address, host))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await super().handle_async_request(_with_address(request, last, host))


def _with_address(request: httpx2.Request, address: str, host: str) -> httpx2.Request:
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


@cache
def tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # SSL_CERT_FILE and SSL_CERT_DIR add authorities


async def send(call: HttpCall, context: StepContext) -> AttemptResult:
    """Send a request and wait for the response. Raises InputError if its address is invalid or not allowed."""
    headers = _headers(call, context)
    timeout = httpx2.Timeout(context.timeout or _RESPONSE_TIMEOUT, connect=_CONNECT_TIMEOUT)
    client = httpx2.AsyncClient(
        transport=CheckedTransport(context.services.addresses),
        timeout=timeout,
        follow_redirects=True,
        max_redirects=_MAX_REDIRECTS,
        trust_env=False,
        event_hooks={"request": [partial(_keep_to_origin, _origin(call.url))]},
    )
    what = f"{call.method} {_redacted(call.url)}"
    try:
        async with client, client.stream(call.method, call.url, headers=headers, content=call.body) as response:
            context.log.write_note(f"{what}: {response.status_code} {response.reason_phrase}")
            beginning = await _log_response(response, context)
    except httpx2.InvalidURL as error:
        raise InputError(f"{_redacted(call.url)} is not a web address: {error}") from None
    except httpx2.TimeoutException as error:
        return failed(f"{what}: no answer in time ({type(error).__name__})")
    except httpx2.TooManyRedirects:
        return failed(f"{what}: redirected more than {_MAX_REDIRECTS} times")
    except httpx2.HTTPError as error:
        return failed(f"{what}: {str(error) or type(error).__name__}")
    if response.status_code < 400:
        return AttemptResult(Succeeded())
    return failed(f"{what}: {response.status_code} {response.reason_phrase}\n{beginning}".rstrip())


async def _keep_to_origin(origin: tuple[str, str, int | None] | None, request: httpx2.Request) -> None:
    """Send the headers and the body of a step to the origin that it names, and to no other."""
    if _origin(str(request.url)) == origin:
        return
    for name in list(request.headers):
        if name.lower() not in _HARMLESS_HEADERS:
            del request.headers[name]
    request.stream = httpx2.ByteStream(b"")


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        return None
    return parsed.scheme, parsed.host, parsed.port


def _headers(call: HttpCall, context: StepContext) -> httpx2.Headers:
    headers = httpx2.Headers({"Accept-Encoding": "identity", **context.run.headers()})
    try:
        given = context.filled(call.headers)
        for name, value in given.items():
            if "\n" in value or "\r" in value:
                raise InputError(f"the header {name} for {_redacted(call.url)} must stand on one line")
        headers.update(given)
    except UnicodeError as error:
        raise InputError(f"the headers for {_redacted(call.url)} must be plain ASCII: {error}") from None
    return headers


async def _log_response(response: httpx2.Response, context: StepContext) -> str:
    """Log the response up to a limit, and return its beginning."""
    log, redacted = context.log, context.services.redactor.stream()
    size, beginning = 0, b""
    async for data in response.aiter_raw(16_384):
        log.feed(OUT, data)
        beginning += redacted.feed(data)[: _EXCERPT - len(beginning)]
        size += len(data)
        if size >= HEAD_SIZE:
            log.write_note(f"the answer is longer than {size:,} bytes: the rest is left out")
            break
    return (beginning + redacted.flush())[:_EXCERPT].decode("utf-8", "replace")


def _redacted(url: str) -> str:
    """The URL without the parts that may be secret."""
    try:
        return str(httpx2.URL(url).copy_with(userinfo=None, query=None, fragment=None))
    except httpx2.InvalidURL:
        return url[:60]
