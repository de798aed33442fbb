"""The query language for runs: `state:failed error:Ledger* label:team=billing last 12h`.

A query is words. `name:value` filters, `-name:value` excludes (states and triggers only), commas give
alternatives, quotes keep spaces together, `*` stands for any text. A word without a name looks for itself. What
cannot be used is refused with the place in the query and the nearest right word.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from .cron.zone import zone
from .errors import InputError, did_you_mean, nearest_word
from .model import Trigger
from .payload import telling_line
from .states import RunState
from .timeparse import instant, parse_duration, read_moment

MICRO = 1_000_000
MAX_LENGTH, _MAX_WORDS, _MAX_STARS = 1_000, 30, 10
_TOKEN = re.compile(r'(?P<minus>-?)(?:(?P<name>[A-Za-z_]+):)?(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]*))(?=\s|$)')
_NUMBER = re.compile(r"\b(0x)?[0-9a-fA-F]*\d[0-9a-fA-F]*\b")
Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs; a field that is not given matches all. Patterns may hold `*`."""

    states: frozenset[RunState] = frozenset()
    triggers: frozenset[Trigger] = frozenset()
    jobs: tuple[str, ...] = ()  # patterns, of which one must match
    schedules: tuple[str, ...] = ()  # the same
    queue: str | None = None
    key: str | None = None
    labels: tuple[str, ...] = ()  # `key`, or `key=value`: all of them
    error: str | None = None  # a pattern that is part of the error
    params: tuple[str, ...] = ()  # patterns that are all part of the params
    words: tuple[str, ...] = ()  # patterns that are all part of a name, the id or the error
    since: int | None = None  # microseconds
    until: int | None = None


class _Token(NamedTuple):
    position: int
    excludes: bool
    name: str  # empty: a word for itself
    value: str
    is_quoted: bool


def read_query(text: str, now: int) -> RunQuery:
    """The query as it is meant at an instant (microseconds)."""
    if len(text) > MAX_LENGTH:
        raise _refusal(f"a query is at most {MAX_LENGTH} characters long", MAX_LENGTH)
    query, seen = RunQuery(), set[str]()
    for token in _joined(_tokens(text)):
        if token.name in seen and token.name not in _REPEATABLE:
            raise _refusal(f"{token.name}: is given twice: write alternatives with a comma", token.position)
        seen.add(token.name)
        query = _FIELDS[token.name](query, token, now)
    return query


def error_pattern(error: str) -> str:
    """What an error says as a pattern: what differs from run to run, such as numbers and ids, is `*`."""
    line = _NUMBER.sub("*", telling_line(error).replace('"', "*"))
    parts = re.sub(r"\*[*\s]*\*", "*", line).strip().split("*")
    return "*".join(parts[: _MAX_STARS + 1])


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is part of a text, in any case."""
    return _follows(pattern.lower().split("*"), text.lower(), 0) >= 0


def matches_whole(patterns: Iterable[str], name: str) -> bool:
    """Whether a name is one of some patterns."""
    return any(_is_whole(pattern.split("*"), name) for pattern in patterns)


def _is_whole(parts: list[str], name: str) -> bool:
    first, *rest = parts
    if not rest:
        return name == first
    place = _follows(rest[:-1], name, len(first)) if name.startswith(first) else -1
    return place >= 0 and name.endswith(rest[-1]) and len(name) - len(rest[-1]) >= place


def _follows(parts: Iterable[str], text: str, place: int) -> int:
    """Where a text goes on after its first parts in this order; -1 if they are not there."""
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return -1
        place = found + len(part)
    return place


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while (rest := text[place:]).strip():
        place += len(rest) - len(rest.lstrip())
        found = _TOKEN.match(text, place)
        if found is None:
            raise _refusal('a quote has no end, or stands inside a word: write name:"some text"', place)
        quoted = found["quoted"]
        minus, name, value = found["minus"], found["name"] or "", found["plain"] if quoted is None else quoted
        if minus and not name:
            value, minus = minus + value, ""
        if name and name.lower() not in _FIELDS:
            near = nearest_word(name, [*_FIELDS])
            raise _refusal(f"there is no field {name!r}{did_you_mean(near)}: use {_NAMES}", place, near)
        if not value:
            raise _refusal(f"{name}: has no value" if name else "this is empty", place)
        if value.count("*") > _MAX_STARS:
            raise _refusal(f"a pattern has at most {_MAX_STARS} stars", place)
        yield _Token(place, bool(minus), name.lower(), value, quoted is not None)
        place = found.end()


def _joined(tokens: Iterable[_Token]) -> Iterator[_Token]:
    """`last 12h` as `since:12h`."""
    waiting: _Token | None = None
    for number, token in enumerate(tokens):
        if number >= _MAX_WORDS:
            raise _refusal(f"a query has at most {_MAX_WORDS} words", token.position)
        if waiting is not None and not token.name and _is_duration(token.value):
            yield _Token(token.position, False, "since", token.value, False)
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = token if (token.name, token.value.lower(), token.is_quoted) == ("", "last", False) else None
        if waiting is None:
            yield token
    if waiting is not None:
        yield waiting


def _is_duration(text: str) -> bool:
    try:
        return parse_duration(text) > 0
    except InputError:
        return False


# Fields.

_Reader = Callable[[RunQuery, _Token, int], RunQuery]


def _changed(query: RunQuery, field: str, value: Any) -> RunQuery:
    return replace(query, **{field: value})


def _words_of(kind: type[Word], field: str) -> _Reader:
    def read(query: RunQuery, token: _Token, _now: int) -> RunQuery:
        given, place = set[Word](), token.position + len(token.name) + 1 + token.excludes
        for text in token.value.split(","):
            if text.lower() not in tuple(kind):
                near = nearest_word(text, kind)
                known = ", ".join(kind)
                raise _refusal(f"{text!r} is no {token.name}{did_you_mean(near)}: write {known}", place, near)
            given.add(kind(text.lower()))
            place += len(text) + 1
        chosen = frozenset(kind) - given if token.excludes else frozenset(given)
        return _changed(query, field, chosen)

    return read


def _patterns(field: str) -> _Reader:
    def read(query: RunQuery, token: _Token, _now: int) -> RunQuery:
        return _changed(query, field, tuple(part for part in token.value.split(",") if part))

    return _included(read)


def _value(field: str) -> _Reader:
    return _included(lambda query, token, _now: _changed(query, field, token.value))


def _another(field: str) -> _Reader:
    """One of several that must all hold."""
    return _included(lambda query, token, _now: _changed(query, field, (*getattr(query, field), token.value)))


def _moment(field: str) -> _Reader:
    def read(query: RunQuery, token: _Token, now: int) -> RunQuery:
        try:
            if token.value[4:5] == "-":
                return _changed(query, field, instant(read_moment(token.value), zone("UTC")) * MICRO)
            return _changed(query, field, now - parse_duration(token.value) * MICRO)
        except InputError as error:
            raise _refusal(f"{token.name}: {error}", token.position) from None

    return _included(read)


def _included(read: _Reader) -> _Reader:
    def checked(query: RunQuery, token: _Token, now: int) -> RunQuery:
        if token.excludes:
            raise _refusal(f"-{token.name}: cannot be excluded: only state and trigger can", token.position)
        return read(query, token, now)

    return checked


_FIELDS: Mapping[str, _Reader] = {
    "state": _words_of(RunState, "states"),
    "trigger": _words_of(Trigger, "triggers"),
    "job": _patterns("jobs"),
    "schedule": _patterns("schedules"),
    "queue": _value("queue"),
    "key": _value("key"),
    "label": _another("labels"),
    "error": _value("error"),
    "params": _another("params"),
    "since": _moment("since"),
    "until": _moment("until"),
    "": _another("words"),
}
_REPEATABLE = frozenset({"", "label", "params"})
_NAMES = ", ".join(name for name in _FIELDS if name)


def _refusal(text: str, position: int, nearest: str | None = None) -> InputError:
    return InputError(f"q: {text}", field="q", position=position, nearest=nearest)
