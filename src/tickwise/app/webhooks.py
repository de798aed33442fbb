"""Calls of `/hooks/NAME`: signed, bounded, and stored before they are answered (S70).

A call proves itself by an HMAC-SHA256 of its body with a secret of the settings. One that does not, and one of a
hook that is not there, get the same refusal after the same work, so nobody learns which hooks there are.
"""

import hmac
import json
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any

from ..clock import monotonic
from ..core.errors import InputError, TickwiseError
from ..core.event_inbox import MAX_DATA
from ..core.events import OWN_HEADERS, SENDERS, OnEvent, Webhook
from ..core.payload import encode
from ..log import get_logger
from ..runtime.secret_providers import SecretProviders
from .events import AcceptedEvent, digest_key, new_event
from .stores import StoreOfLoop

_log = get_logger()
_SECRET_SECONDS = 30.0  # for which a secret is not read again
_NO_HOOK = Webhook("")


class HookSecret(StrEnum):
    """What opens a hook, in place of a token."""

    SIGNATURE = "signature"


class WrongSignatureError(TickwiseError):
    """The call is not signed with the secret of the hook, or there is no such hook."""

    http_status = 401


class TooLargeError(InputError):
    """The body is larger than what is kept of an event."""

    http_status = 413


class HookUnavailableError(TickwiseError):
    """The secret of the hook is not to be had."""

    http_status = 503


class Webhooks:
    """The hooks of the schedules in a store; `secrets` says where the settings find secrets."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._providers = SecretProviders(secrets)
        self._known: dict[str, tuple[float, bytes]] = {}

    async def receive(
        self, opened: StoreOfLoop, name: str, headers: Mapping[str, str], body: bytes
    ) -> AcceptedEvent:
        """Check a call, and store its event."""
        if len(body) > MAX_DATA:
            raise TooLargeError(f"a call has at most {MAX_DATA:,} bytes: send where the data is, not the data")
        row = await opened.store.insights.schedule(name)
        times = row.schedule.definition.times if row and not row.unreadable else None
        hook = times.source if isinstance(times, OnEvent) and isinstance(times.source, Webhook) else _NO_HOOK
        sender = SENDERS.get(hook.sender, OWN_HEADERS)
        given = headers.get(sender.signature, "").removeprefix("sha256=")
        if not self._is_signed(await self._secret(name, hook), body, given):
            raise WrongSignatureError(
                "the signature is not that of this hook: sign the body with HMAC-SHA256 and send the hex digest "
                f"in the header {OWN_HEADERS.signature}, or in that of the hook's sender"
            )
        data = _data_of(headers.get("content-type", ""), body)
        return await opened.events.add(name, new_event(_key_of(hook, headers, data, body), data, "webhook"))

    def _is_signed(self, secret: bytes, body: bytes, given: str) -> bool:
        expected = hmac.new(secret, body, sha256).hexdigest()
        return hmac.compare_digest(expected.encode(), given.strip().lower().encode()) and bool(secret)

    async def _secret(self, name: str, hook: Webhook) -> bytes:
        if not hook.secret:
            return b""
        known = self._known.get(hook.secret)
        if known is None or monotonic() - known[0] > _SECRET_SECONDS:
            try:
                value = (await self._providers.values([hook.secret]))[hook.secret]
            except InputError as error:
                _log.warning("webhook refused", hook=name, problem=str(error))
                raise HookUnavailableError(f"the secret of {name} is not to be had: see tickwise doctor") from None
            known = self._known[hook.secret] = (monotonic(), value.encode())
        return known[1]


def _data_of(content_type: str, body: bytes) -> Any:
    """JSON as a value, other text as it is."""
    try:
        text = body.decode("utf-8")
        if "json" not in content_type.partition(";")[0].lower():
            return text
        data = json.loads(text) if text.strip() else None
        encode(data, "the body")
    except RecursionError:
        raise InputError("the body is nested too deeply: flatten it") from None
    except UnicodeDecodeError:
        raise InputError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"the body is not JSON: {error.msg} at line {error.lineno}") from None
    except InputError:
        raise
    except ValueError:
        raise InputError("the body holds a number that is too long") from None
    return data


def _key_of(hook: Webhook, headers: Mapping[str, str], data: Any, body: bytes) -> str:
    """What makes two calls the same event; the digest of the body where the call does not say."""
    kind, _, where = hook.key.partition(":")
    if kind == "json":
        for part in where.split("."):
            data = data.get(part) if isinstance(data, dict) else None
        found = data if isinstance(data, str) else json.dumps(data) if isinstance(data, int | float) else ""
        if not found:
            raise InputError(f"the body has no text or number at {where}, which is the key of this hook")
        return found
    if kind == "header":
        if not headers.get(where.lower()):
            raise InputError(f"the header {where} is missing, which is the key of this hook")
        return headers[where.lower()]
    return headers.get(SENDERS.get(hook.sender, OWN_HEADERS).key) or digest_key(body)
