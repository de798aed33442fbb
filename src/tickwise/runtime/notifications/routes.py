"""Where notices go: the table `[notify]` of the settings, one entry for each channel.

    [notify.billing]
    urls = ["mailtos://user:password@example.com", "slack://…"]  # of apprise; or webhook, or command
    on = ["failure", "recovery"]
    jobs = ["billing-*"]
    labels = {team = "billing"}
    quiet = {from = "22:00", until = "07:00", timezone = "Europe/Berlin"}

Addresses come from the settings alone: no job can name one.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from ...core.cron.zone import zone
from ...core.definition import check_name
from ...core.errors import InputError, did_you_mean, nearest_word
from ...core.timeparse import floor_second, to_datetime
from ...toml_table import read_table
from .notice import Occasion

_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_WAYS = ("urls", "webhook", "command")
_FIELDS = (*_WAYS, "secret", "on", "jobs", "labels", "quiet")
_QUIET_FIELDS = ("from", "until", "timezone")
_MINUTE, _DAY = 60, timedelta(days=1)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A time of each day at which nobody is told; what happens then is told at its end."""

    begins: int  # minutes of the local day
    ends: int
    timezone: str = "UTC"

    def end_after(self, second: int) -> int:
        """When the quiet time ends that this instant is in; the instant itself if it is in none."""
        local = to_datetime(second).astimezone(zone(self.timezone).tzinfo)
        now = local.hour * _MINUTE + local.minute
        if self.begins < self.ends:
            is_quiet = self.begins <= now < self.ends
        else:
            is_quiet = now >= self.begins or now < self.ends
        if not is_quiet:
            return second
        end = datetime(local.year, local.month, local.day, *divmod(self.ends, _MINUTE), tzinfo=local.tzinfo)
        return floor_second(end if now < self.ends else end + _DAY)

    @property
    def seconds(self) -> int:
        """How long it lasts, on a day without a clock change."""
        return (self.ends - self.begins) % (24 * _MINUTE) * _MINUTE


@dataclass(frozen=True, slots=True)
class NotificationRoute:
    """A channel, and what it is told: of each condition that is given, one must hold."""

    name: str
    urls: tuple[str, ...] = field(default=(), repr=False)  # addresses hold passwords
    webhook: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    command: tuple[str, ...] = ()
    on: frozenset[Occasion] | None = None  # none: as `notify_on` says
    jobs: tuple[str, ...] = ()  # names, or patterns with *
    labels: Mapping[str, str] = field(default_factory=dict)
    quiet: QuietHours | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(filter(None, (*self.urls, self.webhook, self.secret)))

    def concerns(self, job: str, labels: Mapping[str, str]) -> bool:
        """Whether it is told of this job."""
        is_named = not self.jobs or any(fnmatchcase(job, pattern) for pattern in self.jobs)
        return is_named and all(labels.get(key) == value for key, value in self.labels.items())

    def __str__(self) -> str:
        """For people, without what is secret."""
        way = next(way for way in _WAYS if getattr(self, way))
        return f"{way} {', '.join(urlsplit(url).scheme for url in self.urls)}".rstrip()


def read_routes(given: Any) -> Mapping[str, NotificationRoute]:
    """The table `[notify]`: names, each with a way and conditions. A string is TOML."""
    table = read_table(given, 'a table for each channel: [notify.team], and under it urls = ["…"]')
    return {
        check_name(str(name), "the name of a channel"): _read_route(str(name), one) for name, one in table.items()
    }


def _read_route(name: str, given: Any) -> NotificationRoute:
    if isinstance(given, NotificationRoute):
        return given
    if name in ("webhook", "command"):
        raise InputError(f"{name}: this name belongs to notify_{name}: choose another")
    fields = _checked(given, name, _FIELDS)
    if sum(way in fields for way in _WAYS) != 1:
        raise InputError(f"{name}: write one of {', '.join(_WAYS)}")
    if "webhook" in fields and urlsplit(str(fields["webhook"])).scheme not in ("http", "https"):
        raise InputError(f"{name}: webhook: write a web address that begins with https:// or http://")
    labels = fields.get("labels", {})
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        raise InputError(f'{name}: labels: write a table of texts, such as {{team = "billing"}}')
    on = _words(fields, name, "on") if "on" in fields else None
    if on is not None and not set(on) <= set(Occasion):
        raise InputError(f"{name}: on: write some of these: {', '.join(Occasion)}")
    return NotificationRoute(
        name=name, urls=_words(fields, name, "urls"), webhook=str(fields.get("webhook", "")),
        secret=str(fields.get("secret", "")), command=_words(fields, name, "command"),
        on=None if on is None else frozenset(map(Occasion, on)), jobs=_words(fields, name, "jobs"),
        labels=dict(labels), quiet=_read_quiet(name, fields["quiet"]) if "quiet" in fields else None,
    )  # fmt: skip


def _checked(given: Any, place: str, known: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{place}: write a table with {', '.join(known)}")
    for key in given:
        if key not in known:
            raise InputError(
                f"{place}: there is no {str(key)[:60]!r}{did_you_mean(nearest_word(str(key), known))}"
            )
    return given


def _words(fields: Mapping[str, Any], place: str, key: str) -> tuple[str, ...]:
    words = fields.get(key, [])
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word for word in words):
        raise InputError(f"{place}: {key}: write a list of texts")
    if key in fields and not words:
        raise InputError(f"{place}: {key}: the list is empty: leave it out, or write what it is for")
    return tuple(words)


def _read_quiet(place: str, given: Any) -> QuietHours:
    fields = _checked(given, f"{place}: quiet", _QUIET_FIELDS)
    found = [_TIME.fullmatch(str(fields.get(key, ""))) for key in ("from", "until")]
    if not all(found) or fields["from"] == fields["until"]:
        raise InputError(f'{place}: quiet: write {{from = "22:00", until = "07:00"}}, two different times of day')
    begins, ends = (int(one[1]) * _MINUTE + int(one[2]) for one in found if one)
    return QuietHours(begins, ends, zone(str(fields.get("timezone", "UTC"))).name)
