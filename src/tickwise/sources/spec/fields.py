"""The types of the fields of a job: what each may hold."""

import re
import shlex
from keyword import iskeyword
from typing import Any
from urllib.parse import urlsplit

from ...core.cron import parse
from ...core.cron.calendar_days import Roll
from ...core.cron.rule import read_clock, read_interval, read_parts
from ...core.cron.zone import zone
from ...core.definition import NAME, ApprovalAnswer, BlackoutMode, Catchup, Outcome, Overlap, Ticking, check_name
from ...core.errors import InputError
from ...core.events import SENDERS, EndState
from ...core.parameters import ParamType
from ...core.references import OUTPUT_NAME, REFERENCE, output_reference
from ...core.timeparse import parse_duration, read_moment, read_time
from .field_types import AnyValue, Choice, Converted, Flag, Many, Names, Number, Text, words_of

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


def _check_zone(text: str) -> str:
    return zone(text).name


def _check_cron(text: str) -> str:
    parse(text)
    return text


def _check_rule(text: str) -> str:
    read_parts(text)
    return text


def _check_interval(text: str) -> str:
    read_interval(text)
    return text


def _check_clock(text: str) -> str:
    read_clock(text)
    return text


def _read_day_name(value: Any) -> str:
    """A weekday, or a day of the month counted from its start or, below 0, from its end."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= abs(value) <= 31:
        return str(value)
    if isinstance(value, str) and _DAY_NAME.fullmatch(value.strip()):
        return value.strip().upper()
    raise InputError(f"{value!r:.40} is no day: write MON, the days of months as 1 or -1, or 2TUE for the second")


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


def _check_words(words: list[str]) -> None:
    if not words or not words[0]:
        raise InputError("the command is empty")


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


def check_option_name(text: str) -> str:
    if not text.isidentifier():
        raise InputError(f"{text[:60]!r} cannot be the name of an option: use letters, digits and _")
    return text


def check_item_reference(text: str) -> str:
    """The name in a reference to the items of `foreach`."""
    found = REFERENCE.fullmatch(text)
    if not found or (output_reference(found[1]) is None and not found[1].startswith("params.")):
        problem = "write a list, ${params.NAME} or ${steps.NAME.outputs.KEY}"
        raise InputError(f"{text[:60]!r} names no items: {problem}")
    return found[1]


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


def _check_secret_name(text: str) -> str:
    if not OUTPUT_NAME.fullmatch(text):
        raise InputError(f"{text[:60]!r} cannot be the name of a secret: use letters, digits, _ and -")
    return text


def _check_event_key(text: str) -> str:
    kind, _, where = text.partition(":")
    parts = (
        where.split(".")
        if kind == "json"
        else [where]
        if kind == "header" and _HEADER_NAME.fullmatch(where)
        else []
    )
    if not parts or not all(parts):
        raise InputError(f"{text[:60]!r} names no key: write header:X-Delivery, or json:delivery.id for a path")
    return text


def _check_watched_path(text: str) -> str:
    directory, _, names = text.rpartition("/")
    if not text.startswith("/") or "/../" in f"{directory}/" or len(text) > _MAX_PATH:
        raise InputError(f"{text[:60]!r} is not the whole path of files: write it as in /data/in/*.csv")
    if any(sign in directory for sign in "*?[") or names == "..":
        raise InputError(f"{text[:60]!r} has a pattern in its directory: only the names of files can have one")
    return text


def _check_header_value(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise InputError("a header's value stands on one line")
    return text


_DURATION_PATTERN = r"^(?=.)(?:[1-9]\d*d)?(?:[1-9]\d*h)?(?:[1-9]\d*m)?(?:[1-9]\d*s)?$"
_MOMENT_PATTERN = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?( ?(Z|[+-]\d\d:\d\d))?)?$"
_MAX_PATH = 1_000
_METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS".split()

_DAY_NAME = re.compile(r"-?[1-5]?(?:MON|TUE|WED|THU|FRI|SAT|SUN)", re.IGNORECASE)
_INTERVAL_PATTERN = r"^\s*[1-9]\d*\s*(d|w|mo|y|days?|weeks?|months?|years?)\s*$"

PLAIN_TEXT = Text(str)
FLAG = Flag()
DURATION = Converted(_read_duration, {"type": "string", "pattern": _DURATION_PATTERN})
WINDOW = Converted(
    _read_window, {"anyOf": [{"type": "string", "pattern": f"{_DURATION_PATTERN}|^0$"}, {"const": 0}]}
)
NAME_TEXT = Text(check_name, pattern=f"^{NAME.pattern}$")
ZONE_NAME = Text(_check_zone)
CRON_TEXT = Text(_check_cron)
RULE_TEXT = Text(_check_rule)
INTERVAL_TEXT = Text(_check_interval, pattern=_INTERVAL_PATTERN)
CLOCK_TEXT = Text(_check_clock, pattern=r"^\d{1,2}:\d\d$")
DAY_NAMES = Many(Converted(_read_day_name, {"anyOf": [{"type": "string"}, {"type": "integer"}]}), least=1, most=31)
TIME_TEXT = Text(_check_time, pattern=_MOMENT_PATTERN)
MOMENT_TEXT = Text(_check_moment, pattern=_MOMENT_PATTERN)
COMMAND_TEXT = Text(_split_command, least=1)
COMMAND_WORDS = Many(PLAIN_TEXT, least=1, most=1_000, check=_check_words)
SCRIPT_TEXT = Text(_check_script, least=1)
FUNCTION_TARGET = Text(_check_target, pattern=r"^[\w.]+:[\w.]+$")
URL = Text(_check_url, pattern="^https?://")
METHOD = Choice({method: method for method in _METHODS})
HEADERS = Names(_check_header_name, Text(_check_header_value))
ENVIRONMENT = Names(_check_env_name, PLAIN_TEXT)
LABELS = Names(_check_label_name, PLAIN_TEXT)
PARAMS = Names(_check_identifier, AnyValue())
PARAM_TYPES = Names(_check_identifier, Choice(words_of(ParamType), name="ParamType"))
CATCHUP = Choice(words_of(Catchup), name="Catchup")
OVERLAP = Choice(words_of(Overlap), also={"all": Overlap.QUEUE})
BLACKOUT = Choice(words_of(BlackoutMode), name="Blackout")
ANSWER = Choice(words_of(ApprovalAnswer), name="ApprovalAnswer")
APPROVER = Choice({role: role for role in ("operator", "admin")}, name="Approver")
TICKING = Choice(words_of(Ticking), name="Ticking")
ROLL = Choice(words_of(Roll), name="Roll")
OUTCOMES = Many(Choice(words_of(Outcome), name="Outcome"))


SECRET_NAME = Text(_check_secret_name)
SENDER = Choice({sender: sender for sender in SENDERS})
WATCHED_PATH = Text(_check_watched_path, pattern="^/")
END_STATE = Choice(words_of(EndState), name="EndState")
EVENT_KEY = Text(_check_event_key, pattern=r"^(header|json):.+$")


def _check_places(places: list[int]) -> None:
    if 0 in places or len({*places}) < len(places):
        raise InputError("count days from 1, or from the month's end from -1; each once")


PLACES_IN_MONTH = Many(Number(int, -31, 31), least=1, most=62, check=_check_places)


def whole(least: int, most: int) -> Number[int]:
    return Number(int, least, most)


def number(least: float, most: float) -> Number[float]:
    return Number(float, least, most)
