"""The types of the fields of a job file: each checks a value, and has a JSON Schema for editors."""

import re
import shlex
from keyword import iskeyword
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from ...core.cron import parse
from ...core.cron.zone import zone
from ...core.definition import NAME, Catchup, Overlap, Ticking, check_name
from ...core.errors import InputError
from ...core.timeparse import parse_duration, read_moment, read_time

_SHELL_SIGNS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)


def _read_duration(value: Any) -> int:
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        hint = f"write {value}s, {value}m or {value}h" if value else "leave the field out instead of giving 0"
        raise InputError(f"a duration has a unit: {hint}")
    raise InputError("a duration is a text such as 90s, 15m, 6h or 2d12h")


def _read_window(value: Any) -> int:
    return 0 if value == "0" or (value == 0 and type(value) is int) else _read_duration(value)


def _check_name(text: str) -> str:
    return check_name(text)


def _check_zone(text: str) -> str:
    return zone(text).name


def _check_cron(text: str) -> str:
    parse(text)
    return text


def _check_time(text: str) -> str:
    read_time(text)
    return text


def _check_moment(text: str) -> str:
    read_moment(text)
    return text


def _split_command(text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"the command cannot be split into words: {str(error).lower()}") from None
    if shell := next((word for word in words if word in _SHELL_SIGNS), None):
        raise InputError(
            f"no shell reads a command, so {shell!r} would be an argument: use script, or a list of words"
        )
    if not words or not words[0]:
        raise InputError("the command is empty")
    return tuple(words)


def _check_words(words: list[str]) -> list[str]:
    if not words or not words[0]:
        raise InputError("the command is empty")
    return words


def _check_script(text: str) -> str:
    if not text.strip():
        raise InputError("the script is empty")
    return text


def _check_target(text: str) -> str:
    module, colon, function = text.partition(":")
    parts = [*module.split("."), *function.split(".")]
    if not colon or not all(part.isidentifier() and not iskeyword(part) for part in parts):
        raise InputError(f"{text[:60]!r} does not name a function: write package.module:function")
    return text


def _check_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(c.isspace() or not c.isprintable() for c in text):
        raise InputError(f"{text[:60]!r} is not a web address: write it like https://example.com/path")
    return text


def _check_identifier(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise InputError(
            f"{text[:60]!r} cannot be the name of a param: use a Python identifier such as batch_size"
        )
    return text


def _check_env_name(text: str) -> str:
    if not _ENV_NAME.fullmatch(text):
        raise InputError(f"{text[:60]!r} cannot be a variable's name: use letters, digits and _, no digit first")
    return text


def _check_label_name(text: str) -> str:
    if not text.strip() or len(text) > 100:
        raise InputError("a label has a name of 1 to 100 characters")
    return text


def _check_header_name(text: str) -> str:
    if not _HEADER_NAME.fullmatch(text):
        raise InputError(f"{text[:60]!r} cannot be a header's name")
    return text


def _check_header_value(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise InputError("a header's value stands on one line")
    return text


def _read_overlap(value: Any) -> Any:
    return Overlap.QUEUE if value == "all" else value


_DURATION = r"^(?=.)(?:[1-9]\d*d)?(?:[1-9]\d*h)?(?:[1-9]\d*m)?(?:[1-9]\d*s)?$"
_MOMENT = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?( ?(Z|[+-]\d\d:\d\d))?)?$"


def _string_schema(pattern: str = "", **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **({"pattern": pattern} if pattern else {}), **more})


Duration: TypeAlias = Annotated[int, BeforeValidator(_read_duration), _string_schema(_DURATION)]
Window: TypeAlias = Annotated[
    int,
    BeforeValidator(_read_window),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"{_DURATION[:-1]}$|^0$"}, {"const": 0}]}),
]
Name: TypeAlias = Annotated[str, AfterValidator(_check_name), _string_schema(f"^{NAME.pattern}$")]
ZoneName: TypeAlias = Annotated[str, AfterValidator(_check_zone)]
CronText: TypeAlias = Annotated[str, AfterValidator(_check_cron)]
TimeText: TypeAlias = Annotated[str, AfterValidator(_check_time), _string_schema(_MOMENT)]
MomentText: TypeAlias = Annotated[str, AfterValidator(_check_moment), _string_schema(_MOMENT)]
CommandText: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_split_command), _string_schema(minLength=1)]
CommandWords: TypeAlias = Annotated[list[str], AfterValidator(_check_words), Field(min_length=1, max_length=1_000)]
ScriptText: TypeAlias = Annotated[str, AfterValidator(_check_script), Field(min_length=1)]
FunctionTarget: TypeAlias = Annotated[str, AfterValidator(_check_target), _string_schema(r"^[\w.]+:[\w.]+$")]
Url: TypeAlias = Annotated[str, AfterValidator(_check_url), _string_schema("^https?://")]
ParamName: TypeAlias = Annotated[str, AfterValidator(_check_identifier)]
EnvName: TypeAlias = Annotated[str, AfterValidator(_check_env_name)]
LabelName: TypeAlias = Annotated[str, AfterValidator(_check_label_name)]
HeaderName: TypeAlias = Annotated[str, AfterValidator(_check_header_name)]
HeaderValue: TypeAlias = Annotated[str, AfterValidator(_check_header_value)]
CatchupField: TypeAlias = Annotated[Catchup, Field(strict=False)]
OverlapField: TypeAlias = Annotated[
    Overlap,
    Field(strict=False),
    BeforeValidator(_read_overlap),
    WithJsonSchema({"type": "string", "enum": [*Overlap, "all"]}),
]
TickingField: TypeAlias = Annotated[Ticking, Field(strict=False)]
