"""Replaces secrets in what a run prints, raises and returns.

A secret is found as it stands, each line of it by itself, and as JSON, Python and addresses write it. What a
program encodes in another way or cuts into pieces is not recognized. Texts below `MIN_LENGTH` characters are not
looked for: they stand in many words that are no secrets, and so do the words in `_COMMON`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from .mask import MASK

MIN_LENGTH = 4
_COMMON = frozenset({"true", "false", "none", "null", "auto", "default", "localhost", "127.0.0.1"})
_MASK_BYTES = MASK.encode()


class Redactor:
    """Replaces some texts. Without any it changes nothing."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = frozenset(texts)
        self._forms = sorted({form for text in self.texts for form in _forms(text)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms))) if self._forms else None

    def text(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text

    def value(self, value: Any) -> Any:
        """A JSON value, with the texts in it and its keys replaced."""
        if self._pattern is None:
            return value
        match value:
            case Mapping():
                return {self.text(key): self.value(item) for key, item in value.items()}
            case list() | tuple():
                return [self.value(item) for item in value]
            case str():
                return self.text(value)
            case int() | float() if self._pattern.fullmatch(json.dumps(value)):
                return MASK
        return value

    def stream(self) -> "RedactedStream":
        return RedactedStream([form.encode("utf-8", "replace") for form in self._forms])


class RedactedStream:
    """Replaces secrets in output that comes in pieces. What may be the beginning of one is held back."""

    def __init__(self, secrets: list[bytes]) -> None:
        self._secrets = secrets  # the longest first
        self._pattern = re.compile(b"|".join(map(re.escape, secrets))) if secrets else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece; what of the output is certain by now."""
        if self._pattern is None:
            return data
        data, parts, place = self._held + data, list[bytes](), 0
        end = self._beginning(data, place)
        while (found := self._pattern.search(data, place)) and found.start() < end:
            parts += (data[place : found.start()], _MASK_BYTES)
            place = found.end()
            end = self._beginning(data, place)
        self._held = data[end:]
        return b"".join((*parts, data[place:end]))

    def flush(self) -> bytes:
        """The rest: the output has ended."""
        rest, self._held = self._held, b""
        return self._pattern.sub(_MASK_BYTES, rest) if self._pattern else rest

    def _beginning(self, data: bytes, start: int) -> int:
        """Where the end of the data may be the beginning of a secret; else its length."""
        return min((_beginning_of(secret, data, start) for secret in self._secrets), default=len(data))


def _beginning_of(secret: bytes, data: bytes, start: int) -> int:
    """Where the data ends with a beginning of this secret, but not with all of it; else its length."""
    first, place = secret[:MIN_LENGTH], max(start, len(data) - len(secret) + 1)
    while (place := data.find(first, place)) >= 0:
        if secret.startswith(data[place:]):
            return place
        place += 1
    for place in range(max(start, len(data) - MIN_LENGTH + 1), len(data)):
        if first.startswith(data[place:]):
            return place
    return len(data)


NO_SECRETS = Redactor()


@lru_cache(maxsize=256)
def redactor_of(texts: frozenset[str]) -> Redactor:
    """The redactor of these texts; runs of one job share it."""
    return Redactor(texts)


def _forms(text: str) -> Iterator[str]:
    """How a secret may be written."""
    for part in {text, *text.splitlines()}:
        plain = part.strip()
        if len(plain) >= MIN_LENGTH and plain.lower() not in _COMMON:
            yield plain
            yield json.dumps(plain)[1:-1]
            yield json.dumps(plain, ensure_ascii=False)[1:-1]
            yield repr(plain)[1:-1]
            yield quote(plain, safe="")
            yield quote_plus(plain)
