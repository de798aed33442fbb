"""Stored texts that nobody of this version wrote: read as a value, or refused in the one way, and nothing else."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.codec import (
    decode_job,
    decode_rest,
    decode_schedule,
    encode_job,
    encode_rest,
    encode_schedule,
)
from tickwise.core.definition import JobDefinition, ScheduleDefinition
from tickwise.core.errors import InputError, TickwiseError
from tickwise.core.model import Schedule
from tickwise.core.payload import MAX_PAYLOAD, UnreadableText

from .test_codec import FULL_SCHEDULE, JOB_TEXT, SCHEDULE_TEXT, STATE_TEXT
from .test_payload import TEXTS, VALUES


def times(text: str) -> str:
    return f'{{"label":"x","times":{text}}}'


NEWER = r"cannot be read; probably a newer version of Tickwise wrote it: update this one\."
UNREADABLE: list[tuple[Callable[[str], Any], str, str]] = (
    [
        (lambda text: decode_job(text, "etl"), text, f"^job etl {NEWER} {message}")
        for text, message in [
            ("", "a stored value cannot be read as JSON"),
            ("[]", "it must be dict, not list"),
            ("null", "it must be dict, not NoneType"),
            ('{"colour":1}', "it has the unknown field 'colour'"),
            ('{"name":"etl"}', "it has the unknown field 'name'"),
            ('{"priority":"1"}', "priority must be int, not str"),
            ('{"priority":1.5}', "priority must be int, not float"),
            ('{"priority":true}', "priority must be int, not bool"),
            ('{"priority":9223372036854775808}', "priority is an integer beyond 64 bits"),
            ('{"retry":{"backoff":1e999}}', r"retry\.backoff is inf"),
            ('{"retry":{"backoff":null}}', r"retry\.backoff must be float or int, not NoneType"),
            ('{"params":{"a":NaN}}', "a stored value cannot be read as JSON: NaN is no JSON"),
            ('{"params":{"a":1e999}}', r"params\.a is inf"),
            ('{"params":{"a":"\\u0000"}}', r"params\.a holds a NUL"),
            ('{"params":[]}', "params must be dict, not list"),
            ('{"env":{"a b":1}}', r"env\['a b'\] must be str, not int"),
            ('{"steps":{}}', "steps must be list, not dict"),
            ('{"steps":[{}]}', r"steps\[0\] lacks the field 'action'"),
            (
                '{"on":{"exit":{}}}',
                r"on\.exit has the type 'None', which is none of command, script, python, http",
            ),
            ('{"on":{"exit":{"type":"grpc"}}}', r"on\.exit has the type 'grpc', which is none"),
            ('{"on":{"exit":{"type":"cron"}}}', r"on\.exit has the type 'cron', which is none"),
            ('{"on":{"exit":{"type":["http"]}}}', r"on\.exit has the type .*http.*, which is none"),
            ('{"on":{"exit":"x"}}', r"on\.exit must be dict, not str"),
            ("[" * 100_000, "a stored value cannot be read as JSON"),
            ('{"params":' + '{"a":' * 60 + "1" + "}" * 61, "params.* is nested deeper than 50"),
            ("1" * 5_000, "a stored value cannot be read as JSON"),
            ('{"description":"' + "x" * MAX_PAYLOAD + '"}', "description exceeds the limit"),
        ]
    ]
    + [
        (lambda text: decode_schedule(text, "a", "etl"), text, f"^job etl, schedule a {NEWER} {message}")
        for text, message in [
            ("{}", "it lacks the field 'label'"),
            ('{"label":"x","kind":"pause"}', "it lacks the field 'times'"),
            (times("{}"), "times has the type 'None'"),
            (times('{"type":"cron","text":"* * *","zone":"UTC"}'), r"times cannot be used: .*this one has 3"),
            (times('{"type":"cron","text":"@every 5m","zone":"UTC"}'), "times must be Cron, not Every"),
            (times('{"type":"cron","text":"* * * * *","zone":"Mars"}'), r"times\.zone cannot be used: unknown"),
            (times('{"type":"cron","text":"* * * * *","zone":["UTC"]}'), r"times\.zone must be str, not list"),
            (times('{"type":"every","seconds":0,"zone":"UTC"}'), "times cannot be used: an interval of 0 s"),
            (times('{"type":"at","seconds":[2,1],"zone":"UTC"}'), "times cannot be used: one-off times"),
            (times('{"type":"any","parts":[]}'), "times cannot be used: a list of times holds two"),
            ('{"label":"x","times":0}', "times must be dict, not int"),
        ]
    ]
    + [
        (decode_rest, text, f"^the state of a schedule {NEWER} {message}")
        for text, message in [
            ('{"cursor":5}', "it has the unknown field 'cursor'"),
            ('{"dropped":[[1]]}', r"dropped\[0\] must have 2 entries, not 1"),
            ('{"manual_pause":{}}', "manual_pause lacks the field 'at'"),
            (
                '{"backfill":{"cursor":1,"end":2,"overlap":[]}}',
                r"backfill\.overlap must be Overlap or str, not list",
            ),
            ('{"backfill":{"cursor":1,"end":2,"overlap":"x"}}', r"backfill\.overlap is none of skip, queue"),
            ('{"deferral":{"slot":1,"reason":"ON_TIME","since":1}}', r"deferral\.reason is none of on_time"),
        ]
    ]
)


@pytest.mark.parametrize(("read", "text", "message"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_texts_that_cannot_be_read(read: Callable[[str], Any], text: str, message: str) -> None:
    """A text that this version would not have written is refused: where, why, and what it probably means."""
    with pytest.raises(UnreadableText, match=message) as refused:
        read(text)
    assert isinstance(refused.value, TickwiseError)
    assert not isinstance(refused.value, InputError)


JUNK = VALUES | st.sampled_from(
    [
        *("cron", "every", "any", "at", "http", "UTC", "Europe/Berlin", "queue", "on_time", "\ud800"),
        *("* * * * *", "H H * * *", "@every 5m", "CRON_TZ=UTC @daily", 0, -1, 1e308, 2**63, [[1, 2]]),
        {"type": "every", "seconds": 5, "zone": "UTC"},
    ]
).map(deepcopy)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a value with each of its keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in [(value, key), *places(item)]]


def survives(decode: Callable[[str], Any], encode: Callable[[Any], str], text: str) -> None:
    """A text is refused in the one way, or read as a value that can be kept."""
    try:
        value = decode(text)
    except UnreadableText as error:
        str(error).encode()
    else:
        assert decode(encode(value)) == value


def read_job(text: str) -> JobDefinition:
    return decode_job(text, "a")


def read_schedule(text: str) -> ScheduleDefinition:
    return decode_schedule(text, "a", "a")


def read_state(text: str) -> Schedule:
    return Schedule(FULL_SCHEDULE, 1, 1, 1, 1, 1, **decode_rest(text))


def write_state(schedule: Schedule) -> str:
    return encode_rest(schedule) or "{}"


CODECS: list[tuple[Callable[[str], Any], Callable[[Any], str], str]] = [
    (read_job, encode_job, JOB_TEXT),
    (read_schedule, encode_schedule, SCHEDULE_TEXT),
    (read_state, write_state, STATE_TEXT),
]


@pytest.mark.parametrize(("decode", "encode", "text"), CODECS, ids=["job", "schedule", "state"])
@given(data=st.data())
def test_hostile_values(
    decode: Callable[[str], Any], encode: Callable[[Any], str], text: str, data: st.DataObject
) -> None:
    """A text with values replaced, fields removed and fields added is read or refused."""
    document = json.loads(text)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(document) or [({}, "a")]))
        if isinstance(container, dict) and data.draw(st.booleans()):
            container.pop(key, None)
            key = data.draw(st.sampled_from(["type", "times", "steps", "name", "zone", "parts"]) | TEXTS)
        container[key] = data.draw(JUNK)
    survives(decode, encode, json.dumps(document))


@pytest.mark.parametrize(("decode", "encode", "text"), CODECS, ids=["job", "schedule", "state"])
@given(data=st.data())
def test_hostile_texts(
    decode: Callable[[str], Any], encode: Callable[[Any], str], text: str, data: st.DataObject
) -> None:
    """A text with pieces cut out and others put in is read or refused."""
    scraps = st.text(max_size=5) | st.sampled_from(
        ["[" * 2_000, "9" * 5_000, "1e999", "NaN", "\\u0000", '"', "{}", "\0"]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 30))
        text = text[:at] + data.draw(scraps) + text[at + length :]
    survives(decode, encode, text)


@given(VALUES)
def test_any_json(value: Any) -> None:
    """JSON that has nothing to do with definitions is read or refused."""
    for decode, encode, _ in CODECS:
        survives(decode, encode, json.dumps(value))
