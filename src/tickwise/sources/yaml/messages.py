"""Messages for what pydantic finds wrong with a document, each with the character to point at."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import ErrorDetails

from ...core.errors import CronError, InputError, did_you_mean, nearest_word
from .error import MAX_ERRORS, Loc, printable
from .nodes import Flaw, YamlNode
from .schema import (
    ActionSpec,
    AfterSpec,
    AtEntry,
    CronEntry,
    EveryEntry,
    HandlersSpec,
    HttpSpec,
    JobSpec,
    KeepSpec,
    KindsSpec,
    PreconditionSpec,
    RetrySpec,
    Spec,
    StepSpec,
    TemplateEntry,
)
from .text import Source

_MODELS: dict[str, type[Spec]] = {  # by the last name or tag in the path to a field
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
_TAG = re.compile(r"<[a-z]+>|\[key\]")
_OLD_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


def describe_errors(errors: list[ErrorDetails], root: YamlNode, source: Source) -> Iterator[Flaw]:
    """The errors in our words. A required field that was misspelled is reported once, as unknown."""
    meant = {
        error["loc"]: _nearest_field(error) for error in _unknown_fields(errors)[:MAX_ERRORS]
    }  # comparing is slow
    misspelled = {(path[:-1], near) for path, near in meant.items()}
    for error in errors:
        path = error["loc"]
        if error["type"] == "missing" and (path[:-1], path[-1]) in misspelled:
            continue
        loc = tuple(part for part in path if isinstance(part, int) or not _TAG.fullmatch(part))
        on_key = error["type"] == "extra_forbidden" or path[-1:] == ("[key]",)
        cause = (error.get("ctx") or {}).get("error")
        at = root.key_at(loc) if on_key else position_of(root, loc, source, cause)
        near = meant.get(path) or _nearest_choice(error)
        near = cause.nearest if isinstance(cause, InputError) else near
        position = cause.position if isinstance(cause, CronError) else None
        problem = _describe(error, root.find(loc)) + did_you_mean(meant.get(path))
        yield Flaw(loc, problem, at, position=position, nearest=near)


def _unknown_fields(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    return [error for error in errors if error["type"] == "extra_forbidden"]


def position_of(root: YamlNode, loc: Loc, source: Source, error: object = None) -> int:
    """The position of a value; of a cron text on one line, that of the character that is wrong."""
    node = root.find(loc)
    if not isinstance(error, CronError):
        return node.at
    written = source.text[node.at : node.end].find(node.written)
    return node.at if written < 0 else node.at + written + error.position


def _nearest_field(error: ErrorDetails) -> str | None:
    """The nearest right word for an unknown field."""
    *path, name = error["loc"]
    model = next((_MODELS[part] for part in reversed(path) if part in _MODELS), JobSpec)
    return nearest_word(str(name), model.model_fields)


def _describe(error: ErrorDetails, node: YamlNode) -> str:
    describe = _MESSAGES.get(error["type"])
    return describe(error, node) if describe else error["msg"]


def _describe_value(value: Any) -> str:
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


def _wrong_type(what: str) -> Callable[[ErrorDetails, YamlNode], str]:
    return lambda error, _: f"must be {what}, not {_describe_value(error['input'])}"


def _out_of_bounds(text: str) -> Callable[[ErrorDetails, YamlNode], str]:
    return lambda error, _: text.format(**error["ctx"])


def _not_text(error: ErrorDetails, node: YamlNode) -> str:
    is_word = isinstance(error["input"], bool | int | float)
    hint = f': write "{printable(node.written)}" in quotes' if is_word else ""
    return f"must be text, not {_describe_value(error['input'])}{hint}"


def _not_boolean(error: ErrorDetails, _: YamlNode) -> str:
    value = error["input"]
    hint = " (in YAML 1.2 that is a word)" if isinstance(value, str) and value.lower() in _OLD_BOOLEANS else ""
    return f"must be true or false, not {_describe_value(value)}{hint}"


def _not_a_choice(error: ErrorDetails, _: YamlNode) -> str:
    hint = did_you_mean(_nearest_choice(error))
    return f"must be one of {', '.join(_choices(error))}, not {_describe_value(error['input'])}{hint}"


def _choices(error: ErrorDetails) -> list[str]:
    return re.findall(r"'([^']*)'", error["ctx"]["expected"])


def _nearest_choice(error: ErrorDetails) -> str | None:
    value = error["input"]
    is_choice = error["type"] in ("enum", "literal_error") and isinstance(value, str)
    return nearest_word(value, _choices(error)) if is_choice else None


def _wrong_shape(error: ErrorDetails, _: YamlNode) -> str:
    kinds = ", or of start, stop, restart" if error["loc"][:2] == ("schedule", "<times>") else ""
    return f"{error['msg']}{kinds}, not {_describe_value(error['input'])}"


_MESSAGES: dict[str, Callable[[ErrorDetails, YamlNode], str]] = {
    "extra_forbidden": lambda *_: "unknown field",
    "missing": lambda *_: "is missing",
    "string_type": _not_text,
    "int_type": _wrong_type("a whole number"),
    "float_type": _wrong_type("a number"),
    "bool_type": _not_boolean,
    "list_type": _wrong_type("a list"),
    "dict_type": _wrong_type("a mapping of names to values"),
    "model_type": _wrong_type("a mapping"),
    "model_attributes_type": _wrong_type("a mapping"),
    "enum": _not_a_choice,
    "literal_error": _not_a_choice,
    "greater_than_equal": _out_of_bounds("must be at least {ge}"),
    "less_than_equal": _out_of_bounds("must be at most {le}"),
    "too_short": lambda *_: "must not be empty",
    "too_long": _out_of_bounds("has more than {max_length} entries"),
    "string_too_short": lambda *_: "must not be empty",
    "string_too_long": _out_of_bounds("has more than {max_length} characters"),
    "shape": _wrong_shape,
    "value_error": lambda error, _: str(error["ctx"]["error"]),
}
