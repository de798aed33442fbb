"""The setting `[mcp] approve = ["pause"]`: which proposals of agents need no person."""

from typing import Any

from .core.errors import InputError, did_you_mean, nearest_word
from .core.proposal import ProposedAct
from .toml_table import read_table

_EXAMPLE = '[mcp] approve = ["pause"]'


def read_approved(given: Any) -> frozenset[ProposedAct]:
    """The acts that are named one by one, as a table or its text."""
    if isinstance(given, frozenset):
        return given
    table = read_table(given, _EXAMPLE)
    names = table.get("approve", [])
    if set(table) - {"approve"} or not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise InputError(f"write {_EXAMPLE}")
    if wrong := next((name for name in names if name not in list(ProposedAct)), None):
        near, known = nearest_word(wrong, ProposedAct), ", ".join(ProposedAct)
        raise InputError(f"there is no act {wrong[:60]!r}{did_you_mean(near)}; there are {known}", nearest=near)
    return frozenset(map(ProposedAct, names))
