"""YAML text → a tree of nodes that know their positions. Size and depth are bounded, whatever the text.

ruamel.yaml supplies the events; the nodes are composed here, because this is where size, depth and aliases must be
limited and where every position is known. A node counts its size with all its aliases expanded, so a YAML bomb is
found without expanding it. Unquoted scalars follow the core schema of YAML 1.2: `on`, `NO` and dates are text.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from ..spec.error import Loc, printable
from ..spec.nodes import MAX_DEPTH, MAX_NODES, TOO_LONG_NUMBER, Flaw, ValueNode, is_too_long, text_problem
from .syntax_messages import describe_syntax_error, unquoted_text
from .text import Source

MAX_ALIASES = 1_000
_TEXT_TAGS = ("tag:yaml.org,2002:str", "!")
_MERGE = "<<"


class Budget:
    """The number of values that the documents of one file may still hold."""

    def __init__(self) -> None:
        self.left = MAX_NODES


class _Unreadable(Exception):  # noqa: N818  (it never leaves this module)
    """The rest of the document cannot be read."""

    def __init__(self, problem: str, at: int) -> None:
        super().__init__(problem)
        self.at = at


def compose(source: Source, budget: Budget) -> tuple[ValueNode | None, list[Flaw]]:
    """The root of a document, None if it is empty or cannot be read, and what is wrong with it as YAML."""
    composer = _Composer(source, budget)
    try:
        return composer.document(), composer.flaws
    except _Unreadable as unreadable:
        flaw = Flaw(composer.loc, str(unreadable), unreadable.at)
    except MarkedYAMLError as error:
        flaw = Flaw(composer.loc[:1], *describe_syntax_error(error, source))
    except (YAMLError, ValueError, OverflowError):  # an escape such as \UFFFFFFFF, which ruamel.yaml accepts
        flaw = Flaw(composer.loc, "look for a wrong \\ escape in double quotes here", composer.at)
    return None, [*composer.flaws, flaw]


class _Composer:
    def __init__(self, source: Source, budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self.events: Iterator[Any] = YAML(typ="safe", pure=True).parse(source.text)
        self.anchors: dict[str, ValueNode] = {}
        self.flaws: list[Flaw] = []
        self.aliases = 0
        self.loc: Loc = ()  # the value that is being read
        self.at = 0

    def document(self) -> ValueNode | None:
        root: ValueNode | None = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    self.loc = ()
                    raise _Unreadable("a second document starts here: write --- before it", self.start(event))
                root = self.node(next(self.events), ())
        return root

    def start(self, event: Any) -> int:
        return int(event.start_mark.index)

    def node(self, event: Any, loc: Loc) -> ValueNode:
        self.loc, self.at = loc, self.start(event)
        self.budget.left -= 1
        if self.budget.left < 0:
            self.too_big(event)
        if isinstance(event, AliasEvent):
            return self.bounded(self.alias(event), loc, event)
        self.check_tag(event, loc)
        if len(loc) > MAX_DEPTH:
            self.too_deep(event)
        read = self.scalar if isinstance(event, ScalarEvent) else self.collection
        node = self.bounded(read(event, loc), loc, event)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def collection(self, event: Any, loc: Loc) -> ValueNode:
        read = self.sequence if isinstance(event, SequenceStartEvent) else self.mapping
        node = read(event, loc)
        node.size = 1 + sum(child.size for child in node.children())
        node.depth = 1 + max((child.depth for child in node.children()), default=0)
        return node

    def bounded(self, node: ValueNode, loc: Loc, event: Any) -> ValueNode:
        if node.size > MAX_NODES:
            self.too_big(event)
        if len(loc) + node.depth > MAX_DEPTH:
            self.too_deep(event)
        return node

    def too_big(self, event: Any) -> NoReturn:
        raise _Unreadable(f"too much for one file: more than {MAX_NODES:,} values", self.start(event))

    def too_deep(self, event: Any) -> NoReturn:
        raise _Unreadable(f"nested deeper than {MAX_DEPTH} levels", self.start(event))

    def check_tag(self, event: Any, loc: Loc) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) not in _TEXT_TAGS:
            problem = f"the tag {printable(str(tag))!r} has no meaning here: remove it"
            self.flaws.append(Flaw(loc, problem, self.start(event)))

    def alias(self, event: Any) -> ValueNode:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise _Unreadable(f"more than {MAX_ALIASES:,} aliases", self.start(event))
        if event.anchor not in self.anchors:
            advice, at = unquoted_text(self.source, self.start(event)) or ("an alias", self.start(event))
            raise _Unreadable(f"{advice} (no anchor &{printable(event.anchor)} stands before it)", at)
        return self.anchors[event.anchor]

    def scalar(self, event: Any, loc: Loc) -> ValueNode:
        at, text = self.start(event), event.value
        if problem := text_problem(text):
            self.flaws.append(Flaw(loc, problem, at))
        value = text
        if event.style is None and getattr(event, "tag", None) is None:
            try:
                value = read_plain(text)
            except ValueError as error:
                self.flaws.append(Flaw(loc, str(error), at))
        written = self.source.text.find(text, at, int(event.end_mark.index))
        return ValueNode(value, at, text, None if written < 0 else written)

    def sequence(self, event: Any, loc: Loc) -> ValueNode:
        items: list[ValueNode] = []
        while not isinstance(inner := next(self.events), SequenceEndEvent):
            items.append(self.node(inner, (*loc, len(items))))
        return ValueNode(items, self.start(event))

    def mapping(self, event: Any, loc: Loc) -> ValueNode:
        node = ValueNode({}, self.start(event))
        merged: list[ValueNode] = []
        while not isinstance(inner := next(self.events), MappingEndEvent):
            at, key = self.start(inner), self.key(inner, loc)
            self.loc, self.at = (*loc, key), at
            value = self.node(next(self.events), self.loc)
            if key == _MERGE:
                merged += self.merge(value, (*loc, key), at)
            elif key in node.keys:
                first, _ = self.source.place(node.keys[key])
                self.flaws.append(Flaw((*loc, key), f"written twice: first in line {first}", at))
            else:
                node.value[key], node.keys[key] = value, at
        for other in merged:
            node.keys = {**other.keys, **node.keys}
            node.value = {**other.value, **node.value}
        return node

    def key(self, event: Any, loc: Loc) -> str:
        """The text of a key. A key that is not text is an error, and is used as text to continue."""
        if not isinstance(event, ScalarEvent):
            raise _Unreadable("a key must be a text", self.start(event))
        if not isinstance(self.scalar(event, loc).value, str):
            text = printable(event.value)
            problem = f'the key {text} is read as a value and not as text: write "{text}"'
            missing = "a key is missing before the colon"
            self.flaws.append(Flaw((*loc, event.value), problem if text else missing, self.start(event)))
        return str(event.value)

    def merge(self, value: ValueNode, loc: Loc, at: int) -> list[ValueNode]:
        sources = value.value if isinstance(value.value, list) else [value]
        if all(isinstance(node.value, dict) for node in sources):
            return sources
        self.flaws.append(Flaw(loc, "<< takes a mapping, or a list of mappings", at))
        return []


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{printable(text)} is too large for a number")
    return value


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f'{text} is no number here: write "{text}" if it is meant as text')


_CORE_SCHEMA: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = tuple(
    (re.compile(pattern, re.ASCII), read)
    for pattern, read in (
        (r"(?:null|Null|NULL|~)?", lambda _: None),
        (r"true|True|TRUE", lambda _: True),
        (r"false|False|FALSE", lambda _: False),
        (r"[-+]?[0-9]+", int),
        (r"0o[0-7]+", lambda text: int(text, 8)),
        (r"0x[0-9a-fA-F]+", lambda text: int(text, 16)),
        (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", _finite_float),
        (r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", _refuse_number),
    )
)


def read_plain(text: str) -> Any:
    """The value of an unquoted scalar; a ValueError if it looks like a number and cannot be one."""
    for pattern, read in _CORE_SCHEMA:
        if pattern.fullmatch(text):
            if is_too_long(text):
                raise ValueError(TOO_LONG_NUMBER)
            return read(text)
    return text
