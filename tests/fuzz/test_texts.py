"""Cron texts, durations, moments and settings: whatever is written, it is understood or refused, and soon."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tickwise.config import ABOUT, Settings, load
from tickwise.core.cron import Recurrence, parse
from tickwise.core.cron.zone import zone
from tickwise.core.timeparse import format_duration, instant, last_instant, parse_duration, read_moment, read_time

from .law import examples, lawful, memory
from .texts import ODD, nearly

NOW = 1_767_225_600
ZONES = ("UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "Africa/Casablanca")
CRON = (
    "*/5 * * * *", "0 0 29 2 *", "15 30 2 1-7,L-3,LW,15W * ?", "H(0-29)/7 H * * MON-FRI", "0 12 ? JAN-MAR 5#3,2L",
    "@daily", "@every 2d12h offset 30m", "CRON_TZ=Europe/Berlin 30 2 * * 7", "59 59 23 31 12 *", "TZ=UTC @hourly",
)  # fmt: skip
MOMENTS = (
    "2026-03-29",
    "2026-03-29T02:30",
    "2026-10-25 02:30:59+02:00",
    "0001-01-01T00:00Z",
    "9999-12-31T23:59:59Z",
)
MEMORY = 4 << 20


def _asked(text: str, where: str) -> Recurrence:
    """Everything that people ask of a cron text."""
    times = parse(text, where, key=text)
    following = times.after(NOW)
    assert following is None or following > NOW
    assert times.after(1 << 63) is times.before(-1 << 63) is None
    assert (times.before(NOW) or 0) < NOW
    assert times.count(NOW, NOW + 86_400) <= 86_400
    assert times.explain()
    assert parse(str(times)) == times
    str(times.warnings).encode()
    return times


@examples(250)
@given(nearly(CRON, "0123456789*/-,?LWH#() @"), st.sampled_from(ZONES))
@example("0 0 31 2 *", "UTC")
@example("*/0 * * * *", "UTC")
@example("0 0 1 1 1" + "," * 990, "UTC")
@example("1-5/" + "9" * 900 + " * * * *", "UTC")
@example(",".join(["0-59"] * 190) + " * * * *", "Africa/Casablanca")
def test_cron_texts(text: str, where: str) -> None:
    """A cron text is refused, or can be walked both ways, counted, explained and written down again (S37, S38)."""
    lawful(lambda: _asked(text, where))


@examples(150)
@given(nearly(("90s", "15m", "6h", "2d12h", "100d"), "0123456789dhms"))
@example("36600d1s")
@example("٣h")
@example("1m\n")
def test_durations(text: str) -> None:
    """A duration is refused, or positive, at most a century, and the same when it is written again (S11)."""
    seconds = lawful(lambda: parse_duration(text))
    assert seconds is None or 0 < seconds <= 36_600 * 86_400
    assert seconds is None or parse_duration(format_duration(seconds)) == seconds


def _placed(text: str, where: str) -> int:
    first, last = instant(read_moment(text), zone(where)), last_instant(read_moment(text), zone(where))
    assert first <= last
    lawful(lambda: read_time(text))
    return first


@examples(150)
@given(nearly(MOMENTS, "0123456789-:TZ+ "), st.sampled_from(ZONES))
@example("9999-12-31", "Pacific/Apia")
@example("2026-02-30", "UTC")
@example("2026-01-01T24:00", "UTC")
def test_moments(text: str, where: str) -> None:
    """A date or a time is refused, or one instant of the calendar."""
    lawful(lambda: _placed(text, where))


RIGHT = (
    'store = "sqlite:///a.db"\nport = 8484\nqueues = ["default", "slow"]\n',
    'lease = "30s"\nrenew = 10\nallow_commands = true\nnotify_webhook = "https://a.example/x?y"\n',
    '[templates.night]\nschedule = "0 3 * * *"\ntimezone = "Europe/Berlin"\n',
)


@examples(100)
@given(nearly(RIGHT, "[]{}='\"\n.#0a"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
@example("a = " + "[" * 900, "utf-8")
@example("a = " + "{b = " * 900, "utf-8")
@example("[" + "a." * 5_000 + "b]", "utf-8")
@example(f"port = {'9' * 5_000}", "utf-8")
def test_settings_files(tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str) -> None:
    """A settings file is read, or refused with its name; whatever its bytes are."""
    path = tmp_path_factory.getbasetemp() / "tickwise.toml"
    path.write_bytes(text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass"))
    lawful(lambda: load(environ={}, file=path))


VALUES = st.sampled_from(ODD) | nearly(("30s", "8484", "a,b", "true", "https://a.example", "echo 'x y'", "UTC"))


@examples(150)
@given(st.sampled_from(sorted(ABOUT)), VALUES)
def test_settings_of_the_environment(name: str, value: str) -> None:
    """A variable is taken or refused by name; what it changes is that setting and what follows from it."""
    found = lawful(lambda: load(environ={f"TICKWISE_{name.upper()}": value}, file=None))
    assert found is None or isinstance(found, Settings)


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(ODD) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@examples(100)
@given(st.dictionaries(st.sampled_from(sorted(ABOUT)), ANYTHING, max_size=3))
def test_settings_of_any_type(arguments: dict[str, Any]) -> None:
    """Arguments of whatever type are taken or refused."""
    lawful(lambda: load(arguments, environ={}))


WORST = {
    "a long cron text": lambda: parse("0-59," * 200_000 + " * * * *"),
    "many fields": lambda: parse("* " * 500_000),
    "a long zone": lambda: parse("CRON_TZ=" + "x" * 900 + " * * * * *"),
    "a long duration": lambda: parse_duration("9" * 1_000_000 + "s"),
    "a long moment": lambda: read_moment("2026-01-01" + " " * 1_000_000),
}


@pytest.mark.parametrize("what", WORST)
def test_memory(what: str) -> None:
    """What is far too long is refused before much is made of it."""
    assert memory(WORST[what]) < MEMORY


def test_what_is_unlike_a_path_stays_unread(tmp_path: Path) -> None:
    """A folder or a missing file in place of the settings file is refused."""
    for path in (tmp_path, tmp_path / "none.toml", tmp_path / ("x" * 300)):
        assert lawful(lambda path=path: load(environ={}, file=path)) is None  # type: ignore[misc]  # (mypy: a default)
