"""Types of fields: each reads a node into a value, or says what is wrong with it, and has a JSON Schema."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from ...core.errors import InputError, did_you_mean, nearest_word
from .error import Loc, printable
from .nodes import Flaw, FlawList, ValueNode

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
JsonSchema: TypeAlias = dict[str, Any]
_OLD_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


class FieldType(ABC, Generic[T]):
    """What a field takes."""

    def read(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T | None:
        """The value of a node; None and a flaw if it cannot be one."""
        try:
            return self.convert(node, loc, flaws)
        except InputError as error:
            flaws.add(node.flaw(loc, error))
            return None

    @abstractmethod
    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T:
        """The same, but an error about the node itself is raised."""

    @abstractmethod
    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        """The JSON Schema; parts that it refers to are added to `parts`."""


def describe_value(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {printable(str(value))}"
        case str():
            return f'the text "{printable(value)}"'
        case list():
            return "a list"
        case _:
            return "a mapping"


def wrong_type(what: str, node: ValueNode, hint: str = "", nearest: str | None = None) -> InputError:
    return InputError(f"must be {what}, not {describe_value(node.value)}{hint}", nearest=nearest)


class Text(FieldType[T]):
    """A text, which a function checks and may convert."""

    def __init__(
        self, check: Callable[[str], T], *, most: int | None = None, least: int = 0, pattern: str | None = None
    ) -> None:
        self._check = check
        self._most = most
        self._least = least
        self._pattern = pattern

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T:  # noqa: ARG002
        value = node.value
        if not isinstance(value, str):
            is_word = isinstance(value, bool | int | float)
            raise wrong_type("text", node, f': write "{printable(node.written)}" in quotes' if is_word else "")
        checked = self._check(value)
        if len(value) < self._least:
            raise InputError("must not be empty")
        if self._most is not None and len(value) > self._most:
            raise InputError(f"has more than {self._most} characters")
        return checked

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:  # noqa: ARG002
        limits = {"pattern": self._pattern, "minLength": self._least or None, "maxLength": self._most}
        return {"type": "string", **{name: value for name, value in limits.items() if value is not None}}


class Converted(FieldType[T]):
    """Whatever a function can convert."""

    def __init__(self, convert: Callable[[Any], T], schema: JsonSchema) -> None:
        self._convert = convert
        self._schema = schema

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T:  # noqa: ARG002
        return self._convert(node.value)

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:  # noqa: ARG002
        return self._schema


class Number(FieldType[T]):
    """A number within bounds."""

    def __init__(self, kind: Callable[[Any], T], least: T, most: T) -> None:
        self._kind = kind
        self._least: Any = least
        self._most: Any = most

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T:  # noqa: ARG002
        value, is_whole = node.value, self._kind is int
        if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
            raise wrong_type("a whole number" if is_whole else "a number", node)
        if value < self._least:
            raise InputError(f"must be at least {self._least}")
        if value > self._most:
            raise InputError(f"must be at most {self._most}")
        return self._kind(value)

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:  # noqa: ARG002
        kind = "integer" if self._kind is int else "number"
        return {"type": kind, "minimum": self._least, "maximum": self._most}


class Flag(FieldType[bool]):
    """True or false."""

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> bool:  # noqa: ARG002
        value = node.value
        if not isinstance(value, bool):
            is_old = isinstance(value, str) and value.lower() in _OLD_BOOLEANS
            raise wrong_type("true or false", node, " (in YAML 1.2 that is a word)" if is_old else "")
        return value

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:  # noqa: ARG002
        return {"type": "boolean"}


class Choice(FieldType[T]):
    """One of some words; with a name, the JSON Schema has them as a part of its own."""

    def __init__(self, words: Mapping[str, T], also: Mapping[str, T] | None = None, name: str = "") -> None:
        self._words = words
        self._also = also or {}  # which are understood, and not recommended
        self._name = name

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T:  # noqa: ARG002
        value, known = node.value, {**self._words, **self._also}
        if isinstance(value, str) and value in known:
            return known[value]
        near = nearest_word(value, self._words) if isinstance(value, str) else None
        raise wrong_type(f"one of {', '.join(self._words)}", node, did_you_mean(near), near)

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        schema = {"type": "string", "enum": [*self._words, *self._also]}
        if not self._name:
            return schema
        parts[self._name] = schema
        return {"$ref": f"#/$defs/{self._name}"}


def words_of(kind: type[E]) -> dict[str, E]:
    return {str(word): word for word in kind}


class Many(FieldType[list[T]]):
    """A list, which a function may check."""

    def __init__(
        self, item: FieldType[T], *, most: int | None = None, least: int = 0,
        check: Callable[[list[T]], object] = len,
    ) -> None:  # fmt: skip
        self._item = item
        self._most = most
        self._least = least
        self._check = check

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> list[T]:
        if not isinstance(node.value, list):
            raise wrong_type("a list", node)
        if self._most is not None and len(node.value) > self._most:
            raise InputError(f"has more than {self._most} entries")
        before = flaws.count
        read = [self._item.read(inner, (*loc, place), flaws) for place, inner in enumerate(node.value)]
        found = [one for one in read if one is not None]
        if flaws.count == before:
            self._check(found)
        if len(node.value) < self._least:
            raise InputError("must not be empty")
        return found

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        limits = {"minItems": self._least or None, "maxItems": self._most}
        items = self._item.schema(parts)
        return {"type": "array", "items": items, **{name: value for name, value in limits.items() if value}}


class Names(FieldType[dict[str, T]]):
    """A mapping of names, which a function checks, to values."""

    def __init__(self, check: Callable[[str], object], values: FieldType[T]) -> None:
        self._check = check
        self._values = values

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> dict[str, T]:
        if not isinstance(node.value, dict):
            raise wrong_type("a mapping of names to values", node)
        found: dict[str, Any] = {}
        for name, inner in node.value.items():
            try:
                self._check(name)
            except InputError as error:
                flaws.add(Flaw((*loc, name), str(error), node.keys[name]))
            found[name] = self._values.read(inner, (*loc, name), flaws)
        return found

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        return {"type": "object", "additionalProperties": self._values.schema(parts) or True}


class AnyValue(FieldType[Any]):
    """Anything that JSON has."""

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> Any:  # noqa: ARG002
        return node.data()

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:  # noqa: ARG002
        return {}


class Item(AnyValue):
    """Anything that JSON has but null."""

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> Any:
        if node.value is None:
            raise InputError("an item cannot be null: leave it out")
        return super().convert(node, loc, flaws)


class OneOf(FieldType[T]):
    """One of several types: the look of a value says which it is meant to be."""

    def __init__(
        self, look: Callable[[Any], str | None], types: Mapping[str, FieldType[Any]], problem: str = ""
    ) -> None:
        self._look = look
        self._types = types
        self._problem = problem

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> T:
        look = self._look(node.value)
        if look is None or look not in self._types:
            raise InputError(f"{self._problem}, not {describe_value(node.value)}")
        found: T = self._types[look].convert(node, loc, flaws)
        return found

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        return {"oneOf": [one.schema(parts) for one in self._types.values()]}


def shape_of(value: Any) -> str | None:
    """The look of a value by its type."""
    shapes = ((str, "text"), (list, "list"), (dict, "mapping"))
    return next((shape for kind, shape in shapes if isinstance(value, kind)), None)


def likely_key(value: Any, names: Iterable[str]) -> str | None:
    """The name that a mapping has as a key, or was probably meant to have."""
    if not isinstance(value, dict):
        return None
    near = (name for key in value for name in names if nearest_word(key, names) == name)
    return next((name for name in names if name in value), None) or next(near, None)
