"""The one table of what is secret, for responses, the audit log and the logs of runs.

Secret are the values of environment variables, headers and bodies of requests, all that the name of a secret
stands for, and the passwords and keys in addresses. `masked` shows a value without them, `hidden_texts` are they
themselves: a run's log is searched for them (`core.redaction`).
"""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote

from .variables import is_ordinary

MASK = "(hidden)"
URL_MASK = "…"
_WORDS = (
    r"passw|passphrase|passcode|pwd|secret|token|credential|authorization|cookie|private_?key|access_?key|api_?key"
    r"|signature|webhook"
)
_SECRET = re.compile(_WORDS, re.IGNORECASE)
_PLAIN_HEADERS = frozenset(
    "accept accept-encoding accept-language cache-control content-length content-type host user-agent".split()
)
_PASSWORD = re.compile(r"(://[^:/?#@\s]*:)([^/?#@\s]*)(?=@)")
_QUERY_VALUE = re.compile(rf"([?&][^=&#\s]*(?:{_WORDS}|key|sig)[^=&#\s]*=)([^&#\s]+)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?:basic|bearer|digest|token|apikey)\s+(\S+)", re.IGNORECASE)
_Found: TypeAlias = set[str]


def masked(value: Any) -> Any:
    """The value without its secrets."""
    return _mask(value, "", set(), hide=False)


def hidden_texts(value: Any) -> frozenset[str]:
    """The secrets of a value, as texts; of a header also what stands behind `Bearer`."""
    found: _Found = set()
    _mask(value, "", found, hide=False)
    return frozenset(found)


def _mask(value: Any, name: str, found: _Found, *, hide: bool) -> Any:
    hide = hide or bool(_SECRET.search(name))
    match value:
        case Mapping():
            items = value.items()
            return {
                key: _mask(item, str(key), found, hide=hide or _hides(name, key, value)) for key, item in items
            }
        case list() | tuple():
            return [_mask(item, name, found, hide=hide) for item in value]
        case None | bool():
            return value
    if not isinstance(value, str) and not hide:
        return value
    shown = _mask_addresses(str(value), found)
    if not hide:
        return shown
    _add_hidden(str(value), name, found)
    return MASK


def _hides(name: str, key: Any, around: Mapping[Any, Any]) -> bool:
    """Whether a mapping of this name hides the value of a key, whatever that is called."""
    match name:
        case "env":
            return not is_ordinary(str(key))
        case "headers":
            return str(key).lower() not in _PLAIN_HEADERS
    return key == "body" and "url" in around


def _mask_addresses(text: str, found: _Found) -> str:
    """The text without the passwords and keys of addresses in it."""

    def hide(match: re.Match[str]) -> str:
        found.update((match[2], unquote(match[2])))
        return match[1] + URL_MASK

    return _QUERY_VALUE.sub(hide, _PASSWORD.sub(hide, text))


def _add_hidden(text: str, name: str, found: _Found) -> None:
    found.add(text)
    if credentials := _CREDENTIALS.fullmatch(text):
        found.add(credentials[1])
    if name == "body":
        _add_fields(text, found)


def _add_fields(body: str, found: _Found) -> None:
    """Add the secrets of a body that is JSON or a form."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        _mask_addresses(f"?{body}", found)
    else:
        _mask(fields, "", found, hide=False)
