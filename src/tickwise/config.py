"""Settings, from arguments, the environment, a file and defaults, in this order; each knows its origin.

The file is `tickwise.toml`; variables are `TICKWISE_` and the setting's name in capitals. Unknown names are
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
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .core.cron.zone import zone
from .core.definition import DEFAULT_QUEUE, Keep, Ticking, check_name
from .core.errors import InputError, did_you_mean, nearest_word
from .core.proposal import ProposedAct
from .core.timeparse import format_duration, parse_duration
from .ownership import SETTING, OwnershipError, WriterCheck
from .proposal_rules import read_approved
from .runtime.engines.catalog import ConfiguredEngine, read_engines
from .runtime.executors.address import AddressPolicy, Reach
from .runtime.notifications.notice import Occasion
from .runtime.notifications.routes import NotificationRoute, read_routes
from .runtime.secret_providers import read_secret_places
from .sign_on_settings import OidcSettings, TrustedHeader, read_oidc, read_trusted_header
from .sources.defaults import Defaults
from .sources.templates import Template, read_templates

FILE = "tickwise.toml"
PREFIX = "TICKWISE_"
DEFAULT = "default"  # the origin of a setting that is not set
DEFAULT_STORE = "sqlite:///.tickwise/tickwise.db"
_RUN_VARIABLES = frozenset(
    "RUN_ID JOB SCHEDULE SLOT PREVIOUS_SLOT TRIGGER ATTEMPT OUTCOME OUTPUT ITEM ERROR EVENT TEXT PROGRAM".split()
)
_OTHER_VARIABLES = frozenset("TOKEN API TICKET EXPLORE EXAMPLES RACES KILLS SOAK SEED DOCUMENTS PROOF".split())
_OTHER_PREFIXES = ("PARAM_", "TEST_", "BENCH_")  # params of a run, options of our own tests and benchmarks
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?|\*", re.ASCII)
_ORIGIN = re.compile(r"https?://[^/?#@\s]+(?=[/?#]|$)")  # of a URL without user and password
_BOOLEANS = dict.fromkeys(("true", "yes", "1", "on"), True) | dict.fromkeys(("false", "no", "0", "off"), False)


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that is never shown; of a URL only the origin is. An empty one is false."""

    value: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        origin = _ORIGIN.match(self.value)
        return f"{origin[0]}/…" if origin else "…" * bool(self.value)


def _parse_seconds(value: Any) -> float:
    if isinstance(value, str):
        return float(parse_duration(value))
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 and isfinite(value):
        return float(value)
    raise InputError("write a duration such as 30s or 5m")


def _parse_whole_seconds(value: Any) -> int:
    return max(1, round(_parse_seconds(value)))


def _parse_number(value: Any, least: int = 1, most: int = 1_000_000) -> int:
    stripped = value.strip() if isinstance(value, str) else value
    number = int(stripped[:20]) if isinstance(stripped, str) and stripped.isdecimal() else stripped
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise InputError(f"write a whole number from {least} to {most}")
    return number


def _parse_port(value: Any) -> int:
    return _parse_number(value, 0, 65_535)


def _parse_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InputError("write a text")
    return value


def _parse_secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(_parse_text(value))


def _parse_url(value: Any) -> Secret:
    address = _parse_secret(value)
    try:
        parts = urlsplit(address.value)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("write a web address that begins with https:// or http://")
    return address


def _parse_command(value: Any) -> tuple[str, ...]:
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InputError(f"write a command as in a shell: {error}") from None
    if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
        raise InputError("write a command, as a list of words or as in a shell")
    return tuple(words)


def _parse_occasions(value: Any) -> frozenset[Occasion]:
    names = _parse_words(list(value) if isinstance(value, frozenset) else value)
    if not all(name in tuple(Occasion) for name in names):
        raise InputError(f"write some of these, separated by commas: {', '.join(Occasion)}")
    return frozenset(map(Occasion, names))


def parse_names(value: Any, what: str) -> tuple[str, ...]:
    """Names, as a list or separated by commas."""
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names) or not names:
        raise InputError("write names, separated by commas")
    return tuple(check_name(name, what) for name in names)


def _parse_queues(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parse_names(value, "the name of a queue")))


def _parse_sources(value: Any) -> tuple[str, ...]:
    return parse_names(value, "the name of a source") if value != () else ()


def _parse_words(value: Any) -> tuple[str, ...]:
    words = [word.strip() for word in value.split(",")] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word for word in words):
        raise InputError("write words, separated by commas")
    return tuple(dict.fromkeys(words))


def _parse_variables(value: Any) -> tuple[str, ...]:
    words = _parse_words(value)
    for word in words:
        if not _VARIABLE.fullmatch(word):
            raise InputError("write names of variables, separated by commas; AWS_* stands for all that begin so")
        if word.startswith(PREFIX):
            raise InputError(f"{word} is a setting of the worker, and jobs get none of these")
    return words


def _parse_path(value: Any) -> str:
    text = _parse_text(value).rstrip("/")
    if not text.startswith("/") or "//" in text:
        raise InputError("write a path that begins with a slash, such as /tickwise")
    return text


def _parse_reaches(value: Any) -> frozenset[Reach]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple | frozenset) or not all(name in tuple(Reach) for name in names):
        raise InputError(f"write kinds of address, separated by commas: {', '.join(Reach)}")
    return frozenset(map(Reach, names))


def _parse_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _BOOLEANS:
        return _BOOLEANS[value.lower()]
    raise InputError("write true or false")


def _parse_ticking(value: Any) -> Ticking:
    if value not in tuple(Ticking):
        raise InputError(f"write {' or '.join(Ticking)}")
    return Ticking(value)


def _parse_keep(value: Any) -> Keep:
    """`{days, runs}`, or the same as text: `days=90, runs=10000`; or `forever`."""
    if isinstance(value, Keep):
        return value
    if value == "forever":
        return Keep()
    pairs = [part.partition("=") for part in value.split(",")] if isinstance(value, str) else ()
    given = {name.strip(): text.strip() for name, _, text in pairs} if pairs else value
    if not isinstance(given, Mapping) or not given or given.keys() - {"days", "runs"}:
        raise InputError("write days=90, or runs=10000, or both, or forever")
    days, runs = given.get("days"), given.get("runs")
    return Keep(
        None if days is None else _parse_number(days, most=36_500), None if runs is None else _parse_number(runs)
    )


def _parse_zone(value: Any) -> str:
    return zone(_parse_text(value)).name


def _setting(default: Any, read: Callable[[Any], Any], about: str) -> Any:
    return field(default=default, metadata={"read": read, "about": about})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings."""

    store: str = _setting(DEFAULT_STORE, _parse_text, "where everything is kept: a URL")
    ticking: Ticking = _setting(
        Ticking.STORE, _parse_ticking, "what finds due slots: the store, or each node's own index"
    )
    poll: float = _setting(1.0, _parse_seconds, "how often to look if no notification comes")
    claim_batch: int = _setting(200, _parse_number, "jobs claimed at once")
    lookahead: int = _setting(3_600, _parse_whole_seconds, "how far the index of a node looks ahead")
    index_rebuild: float = _setting(30.0, _parse_seconds, "how often the index of a node is rebuilt")
    lease: int = _setting(9, _parse_whole_seconds, "how long a worker holds a run without renewing")
    renew: float = _setting(1.0, _parse_seconds, "how often a worker renews; a ninth of the lease if left out")
    grace: int = _setting(60, _parse_whole_seconds, "how late a slot still counts as on time, unless its job says")
    timezone: str = _setting("UTC", _parse_zone, "of schedules that name none")
    shutdown_grace: float = _setting(30.0, _parse_seconds, "how long running work may go on when a worker ends")
    host: str = _setting("127.0.0.1", _parse_text, "where the API listens")
    port: int = _setting(8484, _parse_port, "where the API listens; 0 takes any free one")
    keep: Keep = _setting(
        Keep(days=90, runs=10_000),
        _parse_keep,
        "how long finished runs are kept unless their job says: the larger",
    )
    concurrency: int = _setting(10, _parse_number, "runs that a worker executes at once")
    queues: tuple[str, ...] = _setting(
        (DEFAULT_QUEUE,), _parse_queues, "queues that a worker serves, in this order"
    )
    addresses: frozenset[Reach] = _setting(
        AddressPolicy().allowed, _parse_reaches, "kinds of address that HTTP steps may reach"
    )
    hosts: tuple[str, ...] = _setting(
        (), _parse_words, "host names under which people reach the API, besides loopback"
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (), _parse_words, "addresses of proxies whose forwarded headers are trusted"
    )
    certificate: str = _setting("", _parse_text, "a file with the certificate, for TLS")
    certificate_key: str = _setting("", _parse_text, "a file with the key of the certificate")
    root_path: str = _setting("", _parse_path, "the path under which a proxy serves the API, such as /tickwise")
    socket: str = _setting(
        "", _parse_text, "a unix socket for the local command line; api-PORT.sock in the state folder if left out"
    )
    pass_env: tuple[str, ...] = _setting(
        (),
        _parse_variables,
        "variables of a worker that its jobs get besides the ordinary ones; AWS_* for all such",
    )
    allow_commands: bool = _setting(default=False, read=_parse_boolean, about="execute commands from any source")
    source: tuple[str, ...] = _setting(
        (), _parse_sources, "names under which folders are served, in their order, instead of their paths"
    )
    event_folders: tuple[str, ...] = _setting((), _parse_words, "folders in which jobs may wait for files")
    trusted_folders: tuple[str, ...] = _setting(
        (), _parse_words, "folders that are used although they belong to another user, or a group may write them"
    )
    notify_webhook: Secret = _setting(Secret(""), _parse_url, "a URL that gets notifications")
    notify_secret: Secret = _setting(Secret(""), _parse_secret, "the key that signs requests to the webhook")
    notify_command: tuple[str, ...] = _setting((), _parse_command, "a program that gets notifications")
    notify_on: frozenset[Occasion] = _setting(frozenset(Occasion), _parse_occasions, "events to notify about")
    notify: Mapping[str, NotificationRoute] = field(
        default_factory=dict, metadata={"read": read_routes, "about": "further channels of notifications, by name"}
    )
    ping: Secret = _setting(Secret(""), _parse_url, "a URL requested as long as the node is healthy")
    ping_every: float = _setting(60.0, _parse_seconds, "how often the URL of `ping` is requested")
    otel: bool = _setting(
        default=False, read=_parse_boolean, about="send traces and metrics of attempts by OpenTelemetry"
    )
    templates: Mapping[str, Template] = field(
        default_factory=dict, metadata={"read": read_templates, "about": "your own schedule templates, by name"}
    )
    engines: Mapping[str, ConfiguredEngine] = field(
        default_factory=dict, metadata={"read": read_engines, "about": "engines that jobs can be handed over to"}
    )
    secrets: Mapping[str, str] = field(
        default_factory=dict,
        metadata={"read": read_secret_places, "about": "where a worker finds the secrets that jobs name"},
    )
    mcp: frozenset[ProposedAct] = _setting(
        frozenset(), read_approved, 'proposals of agents that need no person: [mcp] approve = ["pause"]'
    )
    watch_concurrency: int = _setting(1_000, _parse_number, "runs on engines that a node watches at once")
    api_url: str = _setting(
        "", _parse_text, "the address of the API for work on engines; this node's own if left out"
    )
    oidc: OidcSettings | None = _setting(None, read_oidc, "the OpenID Connect provider that people sign in with")
    trusted_header: TrustedHeader | None = _setting(
        None, read_trusted_header, "headers in which an authenticating proxy says who a person is"
    )
    origins: Mapping[str, str] = field(default_factory=dict)  # where each value comes from

    @property
    def of_definitions(self) -> Defaults:
        """The defaults of definitions; a value in a definition overrides them."""
        grace = None if self.origins.get("grace", DEFAULT) == DEFAULT else self.grace
        return Defaults(self.timezone, grace, self.templates, self.engines)


ABOUT: dict[str, str] = {f.name: f.metadata["about"] for f in fields(Settings) if f.metadata}
NAMES = list(ABOUT)
_SECRET = {"secrets", "notify", "oidc", *(f.name for f in fields(Settings) if isinstance(f.default, Secret))}
_READERS: dict[str, Callable[[Any], Any]] = {f.name: f.metadata["read"] for f in fields(Settings) if f.metadata}


class ProjectSettings(NamedTuple):
    """Settings that the project around this process has elsewhere, such as in those of Django."""

    origin: str
    read: Callable[[], Mapping[str, Any]]  # each time anew


_projects: list[ProjectSettings] = []


def use_project(project: ProjectSettings) -> None:
    """Read the settings of a project from now on, above those of the file."""
    if project not in _projects:
        _projects.append(project)


def load(
    arguments: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """Load the settings. A file that is given must exist; it cannot say itself that its owner is trusted."""
    path = file or Path(FILE)
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    variables = _from_environment(os.environ if environ is None else environ)
    above = {**_read_layer(variables, "environment"), **_read_layer(given, "argument")}
    writers = WriterCheck(above[SETTING][0] if SETTING in above else ())
    found = _read_layer(_from_file(path, writers, named=file is not None), str(path))
    for project in _projects:
        found |= _read_layer(project.read(), project.origin)
    found |= above
    values = {name: value for name, (value, _) in found.items()}
    origins = {**dict.fromkeys(NAMES, DEFAULT), **{name: origin for name, (_, origin) in found.items()}}
    return _check_renewal(Settings(**{**_derived(values), **values}, origins=origins))


def _read_layer(layer: Mapping[str, Any], place: str) -> dict[str, tuple[Any, str]]:
    """The values of a layer by name, each with its origin."""
    origins = {name: f"{PREFIX}{name.upper()}" if place == "environment" else place for name in layer}
    return {name: (_read_setting(name, value, origins[name]), origins[name]) for name, value in layer.items()}


def _derived(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"renew": values["lease"] / 9} if "lease" in values else {}


def _check_renewal(settings: Settings) -> Settings:
    """After a renewal that failed there must be time for another, before the lease is lost (S42)."""
    if settings.renew > settings.lease / 2:
        lease = format_duration(settings.lease)
        raise InputError(
            f"{settings.origins['renew']}: renew is {settings.renew:g} s and lease is {lease}: "
            "renew at least twice in a lease"
        )
    return settings


def _read_setting(name: str, value: Any, origin: str) -> Any:
    if name not in _READERS:
        raise InputError(f"{origin}: there is no setting {name[:60]!r}{did_you_mean(nearest_word(name, NAMES))}")
    try:
        return _READERS[name](value)
    except InputError as error:
        shown = "…" if name in _SECRET else f"{value!r:.100}"
        raise InputError(f"{origin}: {name} is {shown}: {error}") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    ours = {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX)}
    known = _RUN_VARIABLES | _OTHER_VARIABLES
    return {
        name.lower(): ours[name] for name in ours if name not in known and not name.startswith(_OTHER_PREFIXES)
    }


def _from_file(path: Path, writers: WriterCheck, *, named: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(writers.read(path).decode("utf-8"))
    except FileNotFoundError:
        if named:
            raise InputError(f"there is no file {path}") from None
        return {}
    except OwnershipError:
        raise
    except (OSError, ValueError, RecursionError) as error:  # no text, no TOML, too deep, a number too long
        raise InputError(f"{path} cannot be read: {error}") from None
