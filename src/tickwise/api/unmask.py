"""Masked values that come back in an edit: the stored value is put where its mask stands.

Steps are found by their names, and a mask that has no stored value is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import InputError
from ..core.mask import MASK, URL_MASK, masked


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
    return MASK in text or f":{URL_MASK}@" in text or f"={URL_MASK}" in text
