"""Plain values → the nodes of a definition. Size and depth are bounded, as those of a file are."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ...core.errors import InputError
from ...core.timeparse import format_duration
from .error import Loc
from .nodes import MAX_DEPTH, MAX_NODES, TOO_LONG_NUMBER, Flaw, ValueNode, is_too_long, text_problem

_MAX_LENGTH = 1 << 20  # of the whole as JSON, which is the limit of a file


class _Unusable(Exception):  # noqa: N818  (it never leaves this module)
    """The rest of the values is not looked at."""


def compose_values(fields: Mapping[str, Any]) -> tuple[ValueNode | None, list[Flaw]]:
    """The root, None if the values are too many, and what is wrong with them whatever the fields mean.

    An InputError if they cannot stand in JSON. Times may be datetimes and timedeltas.
    """
    try:
        data = json.loads(_encode(fields), object_pairs_hook=_unique)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(str(error)) from None
    composer = _ValueComposer()
    try:
        return composer.node(data, ()), composer.flaws
    except _Unusable:
        return None, composer.flaws


class _ValueComposer:
    def __init__(self) -> None:
        self.flaws: list[Flaw] = []
        self.nodes = 0
        self.place = 0  # counts values and keys in their order, as their position

    def node(self, value: Any, loc: Loc) -> ValueNode:
        self.nodes += 1
        node = ValueNode(value, self.next_place())
        if self.nodes > MAX_NODES:
            self.stop(loc, f"too much for one definition: more than {MAX_NODES:,} values")
        if len(loc) > MAX_DEPTH:
            self.stop(loc, f"nested deeper than {MAX_DEPTH} levels")
        match value:
            case dict():
                node.value = {key: self.item(node, key, inner, loc) for key, inner in value.items()}
            case list():
                node.value = [self.node(inner, (*loc, place)) for place, inner in enumerate(value)]
            case str():
                node.written = value
                self.check_text(value, loc)
            case _:
                node.written = json.dumps(value)
                if is_too_long(node.written):
                    self.flaws.append(Flaw(loc, TOO_LONG_NUMBER, node.at))
        return node

    def item(self, parent: ValueNode, key: str, value: Any, loc: Loc) -> ValueNode:
        parent.keys[key] = self.next_place()
        self.check_text(key, loc)
        return self.node(value, (*loc, key))

    def next_place(self) -> int:
        self.place += 1
        return self.place

    def check_text(self, text: str, loc: Loc) -> None:
        if problem := text_problem(text):
            self.flaws.append(Flaw(loc, problem, self.place))

    def stop(self, loc: Loc, problem: str) -> None:
        self.flaws.append(Flaw(loc, problem, self.place))
        raise _Unusable


def _encode(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, default=_to_json, allow_nan=False)
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"larger than {_MAX_LENGTH >> 20} MiB")
    return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The items of a mapping; in Python 1 and "1" are two keys, in JSON they are one."""
    items = dict(pairs)
    if len(items) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in items if keys.count(key) > 1)
        raise ValueError(f"{twice[:60]!r} is given twice: as a text and as another value")
    return items


def _to_json(value: Any) -> Any:
    match value:
        case datetime():
            whole = value.replace(microsecond=0)
            return (whole if whole == value else whole + timedelta(seconds=1)).isoformat()
        case timedelta():
            return format_duration(round(value.total_seconds()))
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} cannot stand in a definition")
