"""The kinds of value a field of a job file can have: text in, checked value out, and the schema editors see."""

import re
import shlex
from keyword import iskeyword
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from ...core.cron import parse
from ...core.cron.zone import zone
from ...core.definition import NAME, check_name
from ...core.errors import InputError
from ...core.timeparse import parse_duration, read_moment, read_time

_SHELL_SIGNS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)


def _duration(value: Any) -> int:
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        hint = f"write {value}s, {value}m or {value}h" if value else "leave the field out instead of giving 0"
        raise InputError(f"a duration has a unit: {hint}")
    raise InputError("a duration is a text such as 90s, 15m, 6h or 2d12h")


def _window(value: Any) -> int:
    return 0 if value == "0" or (value == 0 and type(value) is int) else _duration(value)


def _name(text: str) -> str:
    return check_name(text)


def _zone_name(text: str) -> str:
    return zone(text).name


def _cron_text(text: str) -> str:
    parse(text)
    return text


def _time_text(text: str) -> str:
    read_time(text)
    return text


def _moment_text(text: str) -> str:
    read_moment(text)
    return text


def _words(text: str) -> tuple[str, ...]:
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


def _word_list(words: list[str]) -> list[str]:
    if not words or not words[0]:
        raise InputError("the command is empty")
    return words


def _script(text: str) -> str:
    if not text.strip():
        raise InputError("the script is empty")
    return text


def _target(text: str) -> str:
    module, colon, function = text.partition(":")
    parts = [*module.split("."), *function.split(".")]
    if not colon or not all(part.isidentifier() and not iskeyword(part) for part in parts):
        raise InputError(f"{text[:60]!r} does not name a function: write package.module:function")
    return text


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(c.isspace() or not c.isprintable() for c in text):
        raise InputError(f"{text[:60]!r} is not a web address: write it like https://example.com/path")
    return text


def _identifier(text: str) -> str:
    if not text.isidentifier() or iskeyword(text):
        raise InputError(
            f"{text[:60]!r} cannot be the name of a param: use a Python identifier such as batch_size"
        )
    return text


def _env_name(text: str) -> str:
    if not _ENV_NAME.fullmatch(text):
        raise InputError(f"{text[:60]!r} cannot be a variable's name: use letters, digits and _, no digit first")
    return text


def _label_name(text: str) -> str:
    if not text.strip() or len(text) > 100:
        raise InputError("a label has a name of 1 to 100 characters")
    return text


def _header_name(text: str) -> str:
    if not _HEADER_NAME.fullmatch(text):
        raise InputError(f"{text[:60]!r} cannot be a header's name")
    return text


def _header_value(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise InputError("a header's value stands on one line")
    return text


_DURATION = r"^(?=.)(?:[1-9]\d*d)?(?:[1-9]\d*h)?(?:[1-9]\d*m)?(?:[1-9]\d*s)?$"
_MOMENT = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?( ?(Z|[+-]\d\d:\d\d))?)?$"


def _text(pattern: str = "", **more: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **({"pattern": pattern} if pattern else {}), **more})


Duration: TypeAlias = Annotated[int, BeforeValidator(_duration), _text(_DURATION)]
Window: TypeAlias = Annotated[
    int,
    BeforeValidator(_window),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"{_DURATION[:-1]}$|^0$"}, {"const": 0}]}),
]
Name: TypeAlias = Annotated[str, AfterValidator(_name), _text(f"^{NAME.pattern}$")]
ZoneName: TypeAlias = Annotated[str, AfterValidator(_zone_name)]
CronText: TypeAlias = Annotated[str, AfterValidator(_cron_text)]
TimeText: TypeAlias = Annotated[str, AfterValidator(_time_text), _text(_MOMENT)]
MomentText: TypeAlias = Annotated[str, AfterValidator(_moment_text), _text(_MOMENT)]
CommandText: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_words), _text(minLength=1)]
CommandWords: TypeAlias = Annotated[list[str], AfterValidator(_word_list), Field(min_length=1, max_length=1_000)]
ScriptText: TypeAlias = Annotated[str, AfterValidator(_script), Field(min_length=1)]
Target: TypeAlias = Annotated[str, AfterValidator(_target), _text(r"^[\w.]+:[\w.]+$")]
Url: TypeAlias = Annotated[str, AfterValidator(_url), _text("^https?://")]
ParamName: TypeAlias = Annotated[str, AfterValidator(_identifier)]
EnvName: TypeAlias = Annotated[str, AfterValidator(_env_name)]
LabelName: TypeAlias = Annotated[str, AfterValidator(_label_name)]
HeaderName: TypeAlias = Annotated[str, AfterValidator(_header_name)]
HeaderValue: TypeAlias = Annotated[str, AfterValidator(_header_value)]
