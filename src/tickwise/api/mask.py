"""Masking of secrets: values of variables, headers and bodies, and all that the name of a secret stands for.

What is shown masked may come back in an edit. `unmasked` puts the stored value where its mask stands: steps are
found by their names, and a mask that has no stored value is refused.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import InputError

MASK = "(hidden)"
_URL_MASK = "…"
_WORDS = (
    r"passw|passphrase|passcode|pwd|secret|token|credential|authorization|cookie|private_?key|access_?key|api_?key"
    r"|signature|webhook"
)
_SECRET = re.compile(_WORDS, re.IGNORECASE)
_SECRET_MAPPINGS = frozenset({"env", "headers"})  # all of their values are secret
_PASSWORD = re.compile(r"(://[^:/?#@\s]*):[^/?#@\s]*@")
_QUERY_VALUE = re.compile(rf"([?&][^=&#\s]*(?:{_WORDS}|key|sig)[^=&#\s]*=)[^&#\s]+", re.IGNORECASE)


def masked(value: Any, name: str = "", *, hide: bool = False) -> Any:
    """The value without its secrets."""
    hide = hide or bool(_SECRET.search(name))
    match value:
        case Mapping():
            hide = hide or name in _SECRET_MAPPINGS
            return {key: masked(item, str(key), hide=hide or _is_body(key, value)) for key, item in value.items()}
        case list() | tuple():
            return [masked(item, name, hide=hide) for item in value]
        case None | bool():
            return value
    if hide:
        return MASK
    return _masked_text(value) if isinstance(value, str) else value


def _is_body(key: Any, around: Mapping[Any, Any]) -> bool:
    return key == "body" and "url" in around


def _masked_text(text: str) -> str:
    """The text without the passwords and keys of addresses in it."""
    return _QUERY_VALUE.sub(rf"\g<1>{_URL_MASK}", _PASSWORD.sub(rf"\1:{_URL_MASK}@", text))


def unmasked(given: Any, stored: Any) -> Any:
    """What was given, with the stored value wherever only its mask came back."""
    return _Unmasking().value(given, stored, masked(stored), "")


class _Unmasking:
    """Walks through what was given, what is stored, and how that is shown."""

    def value(self, given: Any, stored: Any, shown: Any, place: str) -> Any:
        if isinstance(given, Mapping):
            stored, shown = (one if isinstance(one, Mapping) else {} for one in (stored, shown))
            return {
                key: self.value(item, stored.get(key), shown.get(key), f"{place}.{key}" if place else str(key))
                for key, item in given.items()
            }
        if isinstance(given, list):
            return self._items(given, stored, shown, place)
        if isinstance(given, str) and given == shown:
            return stored
        if isinstance(given, str) and _has_mask(given):
            raise InputError(f"{place}: {MASK} stands for no stored value: give the value itself", field=place)
        return given

    def _items(self, given: list[Any], stored: Any, shown: Any, place: str) -> list[Any]:
        """Items are found by their names, else by what they look like; in doubt by their place."""
        known = list(zip(stored, shown, strict=True)) if isinstance(stored, list | tuple) else []
        found = []
        for i, item in enumerate(given):
            one, look = self._find(item, known, i)
            found.append(self.value(item, one, look, f"{place}.{i}"))
        return found

    def _find(self, item: Any, known: Sequence[tuple[Any, Any]], place: int) -> tuple[Any, Any]:
        if isinstance(item, Mapping) and "name" in item:
            named = (
                pair for pair in known if isinstance(pair[0], Mapping) and pair[0].get("name") == item["name"]
            )
            return next(named, (None, None))
        alike = [(s, m) for s, m in known if m == item]
        if len(alike) == 1:
            return alike[0]
        return known[place] if place < len(known) else (None, None)


def _has_mask(text: str) -> bool:
    return MASK in text or f":{_URL_MASK}@" in text or f"={_URL_MASK}" in text
