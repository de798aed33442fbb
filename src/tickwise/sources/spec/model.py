"""Models: the fields of a mapping, each with its type. A class lists them, its instances hold what was given.

A field that is left out is None. Unknown fields are refused, with the name that was probably meant.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from ...core.errors import InputError, did_you_mean, nearest_word
from .error import MAX_ERRORS, Loc
from .field_types import FieldType, JsonSchema, wrong_type
from .nodes import Flaw, FlawList, ValueNode

T = TypeVar("T")


class SpecField(Generic[T]):
    """A field of a model, and the value of that field in an instance."""

    def __init__(self, kind: FieldType[Any], about: str, examples: tuple[Any, ...], *, needed: bool) -> None:
        self.kind = kind
        self.about = about
        self.examples = examples
        self.needed = needed
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.rstrip("_")  # `from_` is the field `from`, a word of Python

    @overload
    def __get__(self, spec: None, owner: type) -> Self: ...
    @overload
    def __get__(self, spec: "Spec", owner: type) -> T: ...
    def __get__(self, spec: "Spec | None", owner: type) -> Any:
        return self if spec is None else spec.given.get(self.name)

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        return {**self.kind.schema(parts), "description": self.about, "examples": list(self.examples)}


def optional(kind: FieldType[T], about: str, *examples: Any) -> SpecField[T | None]:
    return SpecField(kind, about, examples, needed=False)


def required(kind: FieldType[T], about: str, *examples: Any) -> SpecField[T]:
    return SpecField(kind, about, examples, needed=True)


class Spec:
    """Base of models. `called` has exactly one of the fields `one_of`, if these are given."""

    fields: ClassVar[dict[str, SpecField[Any]]] = {}
    _one_of: ClassVar[tuple[str, ...]] = ()
    _called: ClassVar[str] = ""

    def __init_subclass__(cls, one_of: tuple[str, ...] = (), called: str = "") -> None:
        own = {field.name: field for field in vars(cls).values() if isinstance(field, SpecField)}
        cls.fields = {**cls.fields, **own}
        cls._one_of, cls._called = one_of, called

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given  # fields that have been read

    def check(self) -> None:
        """Raise an InputError if fields do not go together."""
        given = [name for name in self._one_of if self.given.get(name) is not None]
        if self._one_of and len(given) != 1:
            instead = f"not {' and '.join(given)}" if given else "but has none"
            raise InputError(f"{self._called} has exactly one of {', '.join(self._one_of)}, {instead}")

    @classmethod
    def read_fields(cls, node: ValueNode, loc: Loc, flaws: FlawList) -> dict[str, Any]:
        """The values of the fields of a mapping; those with flaws may be missing or incomplete."""
        unknown = cls._unknown_fields(node)
        given: dict[str, Any] = {}
        for name, field in cls.fields.items():
            inner = node.value.get(name)
            if inner is None and field.needed and name not in unknown.values():  # else it was misspelled
                flaws.add(Flaw((*loc, name), "is missing", node.at))
            if inner is not None and (field.needed or inner.value is not None):
                given[name] = field.kind.read(inner, (*loc, name), flaws)
        for name, near in unknown.items():
            flaws.add(Flaw((*loc, name), f"unknown field{did_you_mean(near)}", node.keys[name], nearest=near))
        return given

    @classmethod
    def _unknown_fields(cls, node: ValueNode) -> dict[str, str | None]:
        """The names that are no fields, and what was probably meant by the first of them."""
        unknown = [name for name in node.value if name not in cls.fields]
        return {
            name: nearest_word(name, cls.fields) if place < MAX_ERRORS else None  # comparing is slow
            for place, name in enumerate(unknown)
        }

    @classmethod
    def schema(cls, parts: dict[str, JsonSchema]) -> JsonSchema:
        """The JSON Schema of the mapping."""
        needed = [name for name, field in cls.fields.items() if field.needed]
        return {
            "type": "object",
            "properties": {name: field.schema(parts) for name, field in cls.fields.items()},
            "additionalProperties": False,
            **({"required": needed} if needed else {}),
            **({"oneOf": [{"required": [name]} for name in cls._one_of]} if cls._one_of else {}),
        }


S = TypeVar("S", bound=Spec)


class ModelType(FieldType[S]):
    """A mapping with the fields of a model."""

    def __init__(self, model: type[S]) -> None:
        self._model = model

    def convert(self, node: ValueNode, loc: Loc, flaws: FlawList) -> S:
        if not isinstance(node.value, dict):
            raise wrong_type("a mapping", node)
        before = flaws.count
        spec = self._model(self._model.read_fields(node, loc, flaws))
        if flaws.count == before:
            spec.check()
        return spec

    def schema(self, parts: dict[str, JsonSchema]) -> JsonSchema:
        name = self._model.__name__
        if name not in parts:
            parts[name] = {}
            parts[name] = self._model.schema(parts)
        return {"$ref": f"#/$defs/{name}"}
