"""Notification channels: a webhook, and a command."""

import asyncio
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from tempfile import TemporaryFile
from typing import Any, Protocol

from ...core.errors import InputError, TickwiseError
from ...extras import packages_of
from ..executors.address import AddressPolicy
from ..executors.group import Program, run_program
from ..executors.log import StepLog
from ..step_context import Services, StepContext
from .notice import Notice, Occasion

REQUEST_TIMEOUT = 10.0  # seconds
_COMMAND_TIMEOUT = 30.0
_APPRISE_KINDS: Mapping[str, str] = {
    Occasion.FAILURE: "failure",
    Occasion.RECOVERY: "success",
    Occasion.MISSED: "warning",
    Occasion.DEADLINE: "warning",
    Occasion.APPROVAL: "info",
}
_NO_HEADERS: Mapping[str, str] = {}


class UndeliveredError(TickwiseError):
    """A notice did not arrive. The text contains no secret."""


class Channel(Protocol):
    """One way to deliver notices. `second` is the store's now."""

    @property
    def name(self) -> str: ...

    async def send(self, notice: Notice, second: int) -> None:
        """Raises UndeliveredError if it did not arrive."""


@dataclass(frozen=True, slots=True)
class WebhookChannel:
    """Posts JSON to a URL, signed if there is a secret."""

    url: str
    secret: str
    addresses: AddressPolicy
    seconds: float = REQUEST_TIMEOUT
    name: str = "webhook"

    async def send(self, notice: Notice, second: int) -> None:
        body = _json(notice)
        headers = {"Content-Type": "application/json"}
        if self.secret:
            headers["Tickwise-Signature"] = signature(self.secret, second, body)
        await request("POST", self.url, self.addresses, headers=headers, content=body, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class CommandChannel:
    """Starts a program with the JSON on its standard input and the most important values in variables."""

    arguments: Sequence[str]
    services: Services = field(default_factory=Services)
    seconds: float = _COMMAND_TIMEOUT
    name: str = "command"

    async def send(self, notice: Notice, second: int) -> None:  # noqa: ARG002  (only signatures contain the time)
        context = StepContext(notice.context, self.services, StepLog(lambda _stream, _line: None))
        with TemporaryFile() as stdin:
            stdin.write(_json(notice))
            stdin.seek(0)
            try:
                async with asyncio.timeout(self.seconds):
                    end = await run_program(Program(self.arguments, stdin=stdin), context)
            except TimeoutError:
                raise UndeliveredError(f"the program did not end within {self.seconds:g} s") from None
            except InputError as error:
                raise UndeliveredError(str(error)) from None
        if end.code != 0:
            raise UndeliveredError(f"{end.describe()} {end.stderr_tail.rpartition(chr(10))[2][:200]}".rstrip())


@dataclass(frozen=True, slots=True)
class AppriseChannel:
    """Sends the text to services that apprise knows: mail, chat, phones."""

    name: str
    services: Any  # apprise.Apprise
    seconds: float = _COMMAND_TIMEOUT

    @classmethod
    def of(cls, name: str, urls: Sequence[str]) -> "AppriseChannel":
        """InputError if apprise is not installed, or does not know an address."""
        with packages_of("notify", f"notify.{name}"):
            import apprise  # noqa: PLC0415  (only for those who use it)
        services = apprise.Apprise()
        for number, url in enumerate(urls, 1):
            if not services.add(url):
                raise InputError(
                    f"notify.{name}: apprise does not know the address number {number} "
                    f"({url.partition(':')[0][:20]}:…): see https://appriseit.com for how it is written"
                )
        return cls(name, services)

    async def send(self, notice: Notice, second: int) -> None:  # noqa: ARG002  (only signatures contain the time)
        title, kind = f"Tickwise: {notice.occasion}", _APPRISE_KINDS.get(notice.occasion, "info")
        try:
            async with asyncio.timeout(self.seconds):
                arrived = await self.services.async_notify(body=notice.text, title=title, notify_type=kind)
        except TimeoutError:
            raise UndeliveredError(f"no answer within {self.seconds:g} s") from None
        if not arrived:
            raise UndeliveredError(f"not all of its {len(self.services)} services took it: see the log of apprise")


def signature(secret: str, second: int, body: bytes) -> str:
    """The signature header, by which a receiver checks who sent the body, and when."""
    digest = hmac.new(secret.encode(), f"{second}.".encode() + body, sha256).hexdigest()
    return f"t={second},v1={digest}"


async def request(
    method: str, url: str, addresses: AddressPolicy, *, headers: Mapping[str, str] = _NO_HEADERS,
    content: bytes = b"", seconds: float = REQUEST_TIMEOUT,
) -> None:  # fmt: skip
    """Send a request; any 2xx is a success. The response body is not read, redirects are not followed."""
    import httpx2  # noqa: PLC0415  (only for those who send)

    from ..executors.http import CheckedTransport  # noqa: PLC0415

    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(transport=CheckedTransport(addresses), timeout=seconds, trust_env=False) as client,
            client.stream(method, url, headers={"User-Agent": "Tickwise", **headers}, content=content) as response,
        ):
            status = response.status_code
    except (TimeoutError, httpx2.TimeoutException):
        raise UndeliveredError(f"no answer within {seconds:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, InputError) as error:
        raise UndeliveredError(str(error) or type(error).__name__) from None
    if not 200 <= status < 300:
        raise UndeliveredError(f"the answer was {status}")


def _json(notice: Notice) -> bytes:
    return json.dumps(notice.body(), ensure_ascii=False).encode("utf-8", "replace")
