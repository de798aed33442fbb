"""Settings, from arguments, the environment, a file and defaults, in this order; each knows where it comes from.

The file is `tickwise.toml`; variables are `TICKWISE_` and the setting's name in capitals. What nobody knows is
refused.
"""

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .core.cron.zone import zone
from .core.definition import DEFAULT_QUEUE, Ticking, check_name
from .core.errors import InputError, did_you_mean, nearest_word
from .core.timeparse import format_duration, parse_duration
from .runtime.executors.address import AddressPolicy, Reach
from .runtime.notifications.notice import Occasion
from .sources.defaults import Defaults
from .sources.templates import Template, read_templates

FILE = "tickwise.toml"
PREFIX = "TICKWISE_"
DEFAULT = "default"  # the origin of what nobody has set
DEFAULT_STORE = "sqlite:///.tickwise/tickwise.db"
_OF_RUNS = frozenset("RUN_ID JOB SCHEDULE SLOT PREVIOUS_SLOT TRIGGER ATTEMPT OUTCOME ERROR EVENT TEXT".split())
_OF_OTHERS = frozenset("TOKEN EXPLORE EXAMPLES RACES KILLS SOAK SEED DOCUMENTS PROOF".split())
_OF_MANY = ("PARAM_", "TEST_", "BENCH_")  # a run's params, and what our own tests and benches are told
_LOOPBACK_ROLES = ("operator", "viewer", "none")
_PLACE = re.compile(r"https?://[^/?#@\s]+(?=[/?#]|$)")  # of a web address: no name, no password, no path
_WORDS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that nobody is shown; of a web address they see where it leads. An empty one is none."""

    value: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        place = _PLACE.match(self.value)
        return f"{place[0]}/…" if place else "…" * bool(self.value)


def _seconds(value: Any) -> float:
    if isinstance(value, str):
        return float(parse_duration(value))
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and isfinite(value):
        return float(value)
    raise InputError("write a duration such as 30s or 5m")


def _whole_seconds(value: Any) -> int:
    return max(1, round(_seconds(value)))


def _number(value: Any, least: int = 1, most: int = 1_000_000) -> int:
    written = value.strip() if isinstance(value, str) else value
    number = int(written[:20]) if isinstance(written, str) and written.isdecimal() else written
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise InputError(f"write a whole number from {least} to {most}")
    return number


def _port(value: Any) -> int:
    return _number(value, 0, 65_535)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InputError("write a text")
    return value


def _secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(_text(value))


def _web_address(value: Any) -> Secret:
    address = _secret(value)
    try:
        parts = urlsplit(address.value)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("write a web address that begins with https:// or http://")
    return address


def _command(value: Any) -> tuple[str, ...]:
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InputError(f"write a command as in a shell: {error}") from None
    if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
        raise InputError("write a command, as a list of words or as in a shell")
    return tuple(words)


def _occasions(value: Any) -> frozenset[Occasion]:
    names = _words(list(value) if isinstance(value, frozenset) else value)
    if not all(name in tuple(Occasion) for name in names):
        raise InputError(f"write some of these, separated by commas: {', '.join(Occasion)}")
    return frozenset(map(Occasion, names))


def _names(value: Any) -> tuple[str, ...]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names) or not names:
        raise InputError("write names, separated by commas")
    return tuple(dict.fromkeys(check_name(name, "the name of a queue") for name in names))


def _words(value: Any) -> tuple[str, ...]:
    words = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word for word in words):
        raise InputError("write words, separated by commas")
    return tuple(dict.fromkeys(words))


def _path(value: Any) -> str:
    text = _text(value).rstrip("/")
    if not text.startswith("/") or "//" in text:
        raise InputError("write a path that begins with a slash, such as /tickwise")
    return text


def _role(value: Any) -> str:
    if value not in _LOOPBACK_ROLES:
        raise InputError(f"write {', '.join(_LOOPBACK_ROLES)}: an admin needs a token")
    return str(value)


def _reaches(value: Any) -> frozenset[Reach]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple | frozenset) or not all(name in tuple(Reach) for name in names):
        raise InputError(f"write kinds of address, separated by commas: {', '.join(Reach)}")
    return frozenset(map(Reach, names))


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    raise InputError("write true or false")


def _ticking(value: Any) -> Ticking:
    if value not in tuple(Ticking):
        raise InputError(f"write {' or '.join(Ticking)}")
    return Ticking(value)


def _zone(value: Any) -> str:
    return zone(_text(value)).name


def _setting(default: Any, read: Callable[[Any], Any], about: str) -> Any:
    return field(default=default, metadata={"read": read, "about": about})


@dataclass(frozen=True, slots=True)
class Settings:
    """All there is to set."""

    store: str = _setting(DEFAULT_STORE, _text, "where everything is kept: a URL")
    ticking: Ticking = _setting(
        Ticking.STORE, _ticking, "who finds due slots: the store, or each node's own index"
    )
    poll: float = _setting(1.0, _seconds, "how often to look if no news come")
    claim_batch: int = _setting(200, _number, "jobs claimed at once")
    lookahead: int = _setting(3_600, _whole_seconds, "how far the index of a node looks ahead")
    index_rebuild: float = _setting(30.0, _seconds, "how often the index of a node is built anew")
    lease: int = _setting(30, _whole_seconds, "how long a worker holds a run without renewing")
    renew: float = _setting(10.0, _seconds, "how often a worker renews; a third of the lease if left out")
    grace: int = _setting(60, _whole_seconds, "how late a slot still counts as on time, unless its job says")
    timezone: str = _setting("UTC", _zone, "of schedules that name none")
    shutdown_grace: float = _setting(30.0, _seconds, "how long running work may go on when a worker ends")
    host: str = _setting("127.0.0.1", _text, "where the API listens")
    port: int = _setting(8484, _port, "where the API listens; 0 takes any free one")
    concurrency: int = _setting(10, _number, "runs that a worker executes at once")
    queues: tuple[str, ...] = _setting((DEFAULT_QUEUE,), _names, "queues that a worker serves, in this order")
    addresses: frozenset[Reach] = _setting(
        AddressPolicy().allowed, _reaches, "kinds of address that HTTP steps may reach"
    )
    hosts: tuple[str, ...] = _setting((), _words, "host names under which people reach the API, besides loopback")
    trusted_proxies: tuple[str, ...] = _setting((), _words, "addresses of proxies that say who asks")
    certificate: str = _setting("", _text, "a file with the certificate, for TLS")
    certificate_key: str = _setting("", _text, "a file with the key of the certificate")
    root_path: str = _setting("", _path, "the path under which a proxy serves the API, such as /tickwise")
    loopback_role: str = _setting("operator", _role, "who asks from this machine without a token is that")
    allow_commands: bool = _setting(default=False, read=_yes_or_no, about="execute commands from any source")
    notify_webhook: Secret = _setting(Secret(""), _web_address, "where people are told what went wrong: a URL")
    notify_secret: Secret = _setting(Secret(""), _secret, "the key that signs what the webhook gets")
    notify_command: tuple[str, ...] = _setting((), _command, "a program that tells people what went wrong")
    notify_on: frozenset[Occasion] = _setting(frozenset(Occasion), _occasions, "what people are told of")
    ping: Secret = _setting(Secret(""), _web_address, "asked for as long as all is well, so that silence tells")
    ping_every: float = _setting(60.0, _seconds, "how often the address of `ping` is asked for")
    templates: Mapping[str, Template] = field(
        default_factory=dict, metadata={"read": read_templates, "about": "schedules by name, of your own"}
    )
    origins: Mapping[str, str] = field(default_factory=dict)  # where each value comes from

    @property
    def of_definitions(self) -> Defaults:
        """What definitions are read with: an explicit value in one of them goes before it."""
        grace = None if self.origins.get("grace", DEFAULT) == DEFAULT else self.grace
        return Defaults(self.timezone, grace, self.templates)


ABOUT: dict[str, str] = {f.name: f.metadata["about"] for f in fields(Settings) if f.metadata}
NAMES = list(ABOUT)
_SECRET = {f.name for f in fields(Settings) if isinstance(f.default, Secret)}
_READERS: dict[str, Callable[[Any], Any]] = {f.name: f.metadata["read"] for f in fields(Settings) if f.metadata}


def load(
    arguments: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings; a file that is named must exist."""
    path = file or Path(FILE)
    layers = [
        (_from_file(path, named=file is not None), str(path)),
        (_from_environment(os.environ if environ is None else environ), "environment"),
        ({name: value for name, value in (arguments or {}).items() if value is not None}, "argument"),
    ]
    values: dict[str, Any] = {}
    origins = dict.fromkeys(NAMES, DEFAULT)
    for layer, place in layers:
        for name, value in layer.items():
            origin = f"{PREFIX}{name.upper()}" if place == "environment" else place
            values[name] = _read(name, value, origin)
            origins[name] = origin
    return _checked(Settings(**{**_derived(values), **values}, origins=origins))


def _derived(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"renew": values["lease"] / 3} if "lease" in values else {}


def _checked(settings: Settings) -> Settings:
    """A renewal that fails must leave the time for another, before the lease is lost (S42)."""
    if settings.renew > settings.lease / 2:
        lease = format_duration(settings.lease)
        raise InputError(
            f"{settings.origins['renew']}: renew is {settings.renew:g} s and lease is {lease}: "
            "renew at least twice in a lease"
        )
    return settings


def _read(name: str, value: Any, origin: str) -> Any:
    if name not in _READERS:
        raise InputError(f"{origin}: there is no setting {name[:60]!r}{did_you_mean(nearest_word(name, NAMES))}")
    try:
        return _READERS[name](value)
    except InputError as error:
        shown = "…" if name in _SECRET else f"{value!r:.100}"
        raise InputError(f"{origin}: {name} is {shown}: {error}") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    ours = {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX)}
    known = _OF_RUNS | _OF_OTHERS
    return {name.lower(): ours[name] for name in ours if name not in known and not name.startswith(_OF_MANY)}


def _from_file(path: Path, *, named: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if named:
            raise InputError(f"there is no file {path}") from None
        return {}
    except (OSError, ValueError, RecursionError) as error:  # no text, no TOML, too deep, a number too long
        raise InputError(f"{path} cannot be read: {error}") from None
