"""What people hand over to be kept: payloads (params, results) as JSON text, and free texts.

Refused is what not every store and reader gives back as it was: PostgreSQL holds no NUL, UTF-8 no half of a
surrogate pair, JSON no NaN, and integers end at 64 bits in SQLite and MongoDB. (JavaScript rounds those beyond
2**53: who shows them in a browser sends them as text.) A tuple comes back as a list. Nothing is ever pickled.

The work is bounded, whatever is given: a value that is too large, endless or contains itself is refused as soon as
the part already seen would not fit.
"""

import re
from collections.abc import Iterable
from datetime import date, time, timedelta
from json import JSONDecoder, JSONEncoder
from math import isfinite
from types import MappingProxyType
from typing import Any, NoReturn

from .errors import InputError, TickwiseError

MAX_PAYLOAD = 1 << 20  # bytes of JSON text
MAX_DEPTH = 50  # lists and mappings inside one another

_TOO_LARGE = "exceeds the limit of 1 MiB of JSON text: keep large data elsewhere and pass where it is"
_TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels: flatten it (or does it contain itself?)"
_LONGEST_PATH = 200
_BEYOND = 1 << 63
_MAPPINGS = (dict, MappingProxyType)  # definitions hold their mappings frozen
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_EXIT = re.compile(r"\b(exit code \d+|ended by \w+)$")  # how a program ended; what it printed stands below
_IN_TRACEBACK = ("Traceback (", " ", "\t")
_ADVICE: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((date, time), "pass its isoformat() text"),
    (timedelta, "pass its total_seconds()"),
    ((bytes, bytearray, memoryview), "decode it to text, or pass it as base64 text"),
    ((set, frozenset), "pass a sorted list"),
    (object, "pass None, bool, int, float, str, and lists and dicts of them"),
)


class Unfit(Exception):  # noqa: N818  (it is turned into an error for people before it leaves the core)
    """Why a value cannot be kept or read, and where in the whole it stands."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


class UnreadableText(TickwiseError):  # noqa: N818  (what it says is all there is to say)
    """A stored text that this version cannot read."""


def encode(value: Any, what: str) -> str:
    """The compact JSON text of a payload, keys in their order. `what` begins the path in a refusal."""
    try:
        return to_json(value)
    except Unfit as unfit:
        raise InputError(f"{what}{clip(unfit.path, _LONGEST_PATH)} {unfit.problem}") from None


def encode_again(value: Any) -> str:
    """The text of a payload that `decode` has read, so that nothing about it need be checked."""
    return _WRITERS[False].encode(value)


def decode(text: str) -> Any:
    """The payload of a text that `encode` made."""
    try:
        return _read(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableText(f"a stored value cannot be read as JSON: {error}") from None


def shown(text: str | None) -> Any:
    """A payload for people: the words why, if it cannot be read."""
    try:
        return None if text is None else decode(text)
    except UnreadableText as error:
        return f"({error})"


def shown_params(text: str | None) -> dict[str, Any] | None:
    """The same for params, which are a mapping whatever stands there."""
    params = shown(text)
    return params if params is None or isinstance(params, dict) else {"unreadable": params}


def to_json(value: Any, *, sort_keys: bool = False) -> str:
    weigh(value)
    text = _WRITERS[sort_keys].encode(value)
    if len(text.encode()) > MAX_PAYLOAD:
        raise Unfit(_TOO_LARGE)
    return text


def weigh(value: Any, room: int = MAX_PAYLOAD, depth: int = 0) -> int:
    """The room that is left after this value; `Unfit` if there is none, or if it holds what cannot be kept."""
    if isinstance(value, str):
        room -= len(value) + 2
        if room >= 0:
            _check_characters(value)
    elif value is None or isinstance(value, (int, float)):
        room -= 1
        _check_number(value)
    elif isinstance(value, _MAPPINGS):
        room = _weigh_items(value.items(), room - 1, depth + 1, keyed=True)
    elif isinstance(value, (list, tuple)):
        room = _weigh_items(enumerate(value), room - 1, depth + 1, keyed=False)
    else:
        advice = next(advice for kinds, advice in _ADVICE if isinstance(value, kinds))
        raise Unfit(f"is of type {type(value).__name__}, which JSON does not have: {advice}")
    if room < 0:
        raise Unfit(_TOO_LARGE)
    return room


def _weigh_items(items: Iterable[tuple[Any, Any]], room: int, depth: int, *, keyed: bool) -> int:
    if depth > MAX_DEPTH:
        raise Unfit(_TOO_DEEP)
    for key, item in items:
        if keyed:
            check_key(key)
        try:
            room = weigh(item, (weigh(key, room) if keyed else room) - 1, depth)
        except Unfit as unfit:
            unfit.path = piece_of_path(key) + unfit.path
            raise
    return room


def check_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise Unfit(f"has a key of type {type(key).__name__}: JSON has text keys only, use str")


def piece_of_path(key: str | int) -> str:
    """`.table`, `['a b']` or `[3]`: a step from a value to one of its parts."""
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r:.40}]"


def _check_number(value: float | None) -> None:
    if isinstance(value, float):
        if not isfinite(value):
            raise Unfit(f"is {value!r}, which JSON does not have: pass None or a text")
    elif value is not None and not -_BEYOND <= value < _BEYOND:
        raise Unfit("is an integer beyond 64 bits, which not every reader keeps exactly: pass it as text")


def _check_characters(text: str) -> None:
    found = _UNSTORABLE.search(text)
    if found is None:
        return
    where = f"at position {found.start():,}"
    if found[0] == "\0":
        raise Unfit(f"holds a NUL character {where}: not every store keeps it, remove it")
    raise Unfit(f"holds half a surrogate pair (U+{ord(found[0]):X}) {where}: it was not decoded as what it is")


def check_text(text: str, what: str, most: int) -> str:
    """The text itself (a reason, a person's name), if it can be kept."""
    if not isinstance(text, str):
        raise InputError(f"{what} must be text, not {type(text).__name__}")
    if len(text) > most:
        raise InputError(f"{what} has {len(text):,} characters, and at most {most:,} are kept: shorten it")
    try:
        _check_characters(text)
    except Unfit as unfit:
        raise InputError(f"{what} {unfit.problem}") from None
    return text


def clip(text: str, most: int) -> str:
    """Any text (an error, a log) made fit to be kept: at most so long, with its head and its tail."""
    if len(text) > most:
        kept = max(0, most - len(_left_out(len(text))))
        tail = kept // 2
        text = text[: kept - tail] + _left_out(len(text) - kept) + text[len(text) - tail :]
    return _UNSTORABLE.sub(lambda found: "␀" if found[0] == "\0" else "�", text[:most])


def _left_out(count: int) -> str:
    return f"… {count:,} characters left out …"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_read = JSONDecoder(parse_constant=_refuse_constant).decode
_WRITERS = {
    sort_keys: JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        check_circular=False,
        separators=(",", ":"),
        sort_keys=sort_keys,
        default=dict,
    )
    for sort_keys in (False, True)
}


def first_line(error: str, length: int = 200) -> str:
    """An error in one line, for logs, lists and notices: its first line says what it is."""
    return error.strip().partition("\n")[0][:length]


def telling_line(error: str, length: int = 200) -> str:
    """The line of a run's error that says most: the first that a program printed, rather than its exit code.

    Lines of a traceback are passed over up to the exception.
    """
    said = (line for line in error.strip().split("\n")[1:] if line.strip() and not line.startswith(_IN_TRACEBACK))
    first = first_line(error, length)
    return next(said, first)[:length].strip() if _EXIT.search(first_line(error)) else first


def error_line(error: str, length: int = 200) -> str:
    """A run's error in one line: what it says, then what its program ended with."""
    said, first = telling_line(error, length), first_line(error, length)
    return first if said == first else f"{said} · {first}"[:length]
