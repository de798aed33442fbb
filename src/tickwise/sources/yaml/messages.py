"""What pydantic finds wrong with a document, said in plain words and pointed at the right character."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import ErrorDetails

from ...core.errors import CronError, InputError, did_you_mean, nearest_word
from .error import MOST_ERRORS, Loc, shown
from .nodes import Flaw, YamlNode
from .schema import JobSpec
from .schema_parts import (
    ActionSpec,
    AfterSpec,
    AtEntry,
    CronEntry,
    EveryEntry,
    HandlersSpec,
    HttpSpec,
    KeepSpec,
    KindsSpec,
    PreconditionSpec,
    RetrySpec,
    Spec,
    StepSpec,
    TemplateEntry,
)
from .text import Source

_MODELS: dict[str, type[Spec]] = {  # by the last name or tag on the way to a field
    "<cron>": CronEntry,
    "<every>": EveryEntry,
    "<at>": AtEntry,
    "<template>": TemplateEntry,
    "<kinds>": KindsSpec,
    "after": AfterSpec,
    "preconditions": PreconditionSpec,
    "retry": RetrySpec,
    "on": HandlersSpec,
    "success": ActionSpec,
    "failure": ActionSpec,
    "exit": ActionSpec,
    "http": HttpSpec,
    "keep": KeepSpec,
    "steps": StepSpec,
}
_OLD_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


def describe_errors(errors: list[ErrorDetails], root: YamlNode, source: Source) -> Iterator[Flaw]:
    """The errors in our words. A field that is missing because it was misspelled is told once."""
    meant = {error["loc"]: _nearest_field(error) for error in _unknown(errors)[:MOST_ERRORS]}  # comparing is slow
    misspelled = {(way[:-1], near) for way, near in meant.items()}
    for error in errors:
        way = error["loc"]
        if error["type"] == "missing" and (way[:-1], way[-1]) in misspelled:
            continue
        loc = tuple(part for part in way if isinstance(part, int) or not _TAG.fullmatch(part))
        on_key = error["type"] == "extra_forbidden" or way[-1:] == ("[key]",)
        cause = (error.get("ctx") or {}).get("error")
        at = root.key_at(loc) if on_key else place(root, loc, source, cause)
        near = meant.get(way) or _nearest_choice(error)
        near = cause.nearest if isinstance(cause, InputError) else near
        position = cause.position if isinstance(cause, CronError) else None
        yield Flaw(loc, _say(error, root.find(loc)) + did_you_mean(meant.get(way)), at, position, near)


def _unknown(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    return [error for error in errors if error["type"] == "extra_forbidden"]


_TAG = re.compile(r"<[a-z]+>|\[key\]")


def place(root: YamlNode, loc: Loc, source: Source, error: object = None) -> int:
    """Where a value stands; of a cron text on one line, the character that is to blame."""
    node = root.find(loc)
    if not isinstance(error, CronError):
        return node.at
    written = source.text[node.at : node.end].find(node.written)
    return node.at if written < 0 else node.at + written + error.position


def _nearest_field(error: ErrorDetails) -> str | None:
    """The nearest right word for an unknown field."""
    *way, name = error["loc"]
    model = next((_MODELS[part] for part in reversed(way) if part in _MODELS), JobSpec)
    return nearest_word(str(name), model.model_fields)


def _say(error: ErrorDetails, node: YamlNode) -> str:
    say = _SENTENCES.get(error["type"])
    return say(error, node) if say else error["msg"]


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {shown(str(value))}"
        case str():
            return f'the text "{shown(value)}"'
        case list():
            return "a list"
        case _:
            return "a mapping"


def _must_be(what: str) -> Callable[[ErrorDetails, YamlNode], str]:
    return lambda error, _: f"must be {what}, not {_kind(error['input'])}"


def _limit(text: str) -> Callable[[ErrorDetails, YamlNode], str]:
    return lambda error, _: text.format(**error["ctx"])


def _text(error: ErrorDetails, node: YamlNode) -> str:
    is_word = isinstance(error["input"], bool | int | float)
    hint = f': write "{shown(node.written)}" in quotes' if is_word else ""
    return f"must be text, not {_kind(error['input'])}{hint}"


def _boolean(error: ErrorDetails, _: YamlNode) -> str:
    value = error["input"]
    hint = " (in YAML 1.2 that is a word)" if isinstance(value, str) and value.lower() in _OLD_BOOLEANS else ""
    return f"must be true or false, not {_kind(value)}{hint}"


def _choice(error: ErrorDetails, _: YamlNode) -> str:
    hint = did_you_mean(_nearest_choice(error))
    return f"must be one of {', '.join(_choices(error))}, not {_kind(error['input'])}{hint}"


def _choices(error: ErrorDetails) -> list[str]:
    return re.findall(r"'([^']*)'", error["ctx"]["expected"])


def _nearest_choice(error: ErrorDetails) -> str | None:
    value = error["input"]
    is_choice = error["type"] in ("enum", "literal_error") and isinstance(value, str)
    return nearest_word(value, _choices(error)) if is_choice else None


def _shape(error: ErrorDetails, _: YamlNode) -> str:
    kinds = ", or of start, stop, restart" if error["loc"][:2] == ("schedule", "<times>") else ""
    return f"{error['msg']}{kinds}, not {_kind(error['input'])}"


_SENTENCES: dict[str, Callable[[ErrorDetails, YamlNode], str]] = {
    "extra_forbidden": lambda *_: "unknown field",
    "missing": lambda *_: "is missing",
    "string_type": _text,
    "int_type": _must_be("a whole number"),
    "float_type": _must_be("a number"),
    "bool_type": _boolean,
    "list_type": _must_be("a list"),
    "dict_type": _must_be("a mapping of names to values"),
    "model_type": _must_be("a mapping"),
    "model_attributes_type": _must_be("a mapping"),
    "enum": _choice,
    "literal_error": _choice,
    "greater_than_equal": _limit("must be at least {ge}"),
    "less_than_equal": _limit("must be at most {le}"),
    "too_short": lambda *_: "must not be empty",
    "too_long": _limit("has more than {max_length} entries"),
    "string_too_short": lambda *_: "must not be empty",
    "string_too_long": _limit("has more than {max_length} characters"),
    "shape": _shape,
    "value_error": lambda error, _: str(error["ctx"]["error"]),
}
