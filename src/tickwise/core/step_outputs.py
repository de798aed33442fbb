"""What a step hands on to later steps: names with JSON values (S72).

A program prints a JSON object as its last line, or writes lines into the file that `TICKWISE_OUTPUT` names:
`NAME=text`, or a JSON object. A function returns a mapping; anything else that it returns is its output `result`.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from .definition import MAX_ITEMS
from .errors import InputError
from .payload import clip, encode, to_json

VARIABLE = "TICKWISE_OUTPUT"  # has the path of the file
_ITEM = re.compile(r"(.+)\[(\d{1,9})\]", re.ASCII)
MAX_VALUE = 65_536  # bytes of JSON, for each value
MAX_RUN = 1_048_576  # bytes of JSON, for all outputs of a run


def printed_outputs(text: str) -> dict[str, Any]:
    """What the last line of an output hands on: nothing, unless that is a JSON object."""
    line = text.rstrip().rpartition("\n")[2].strip()
    return _object(line) if line.startswith("{") and line.endswith("}") else {}


def written_outputs(text: str) -> dict[str, Any]:
    """What the lines of a `TICKWISE_OUTPUT` file hand on; a later line goes before an earlier one."""
    outputs: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if line.lstrip().startswith("{"):
            values = _object(line)
            if not values and line.strip() != "{}":
                raise _bad_line(number, line, "it is no JSON object")
            outputs |= values
        elif equals and name.strip():
            outputs[name.strip()] = value
        elif line.strip():
            raise _bad_line(number, line, "it has no name")
    return outputs


def returned_outputs(result: Any) -> Mapping[str, Any]:
    """What the result of a function hands on."""
    if result is None or isinstance(result, Mapping):
        return result or {}
    return {"result": result}


def kept_outputs(outputs: Mapping[str, Any], room: int = MAX_RUN) -> tuple[dict[str, Any], list[str]]:
    """The outputs that can be kept, and what is wrong with the others. `room`: bytes that a run has left."""
    kept: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in outputs.items():
        try:
            size = len(encode(value, f"the output {clip(name, 60)}").encode())
        except InputError as error:
            problems.append(f"not handed on: {error}")
            continue
        if size > MAX_VALUE or size > room:
            most = f"{MAX_VALUE:,} bytes" if size > MAX_VALUE else f"the {MAX_RUN:,} bytes that a run may hand on"
            advice = "write it to a file and hand on the path"
            problems.append(f"the output {clip(name, 60)} is not handed on: it has more than {most}; {advice}")
            continue
        kept[name], room = value, room - size
    return kept, problems


def item_name(step: str, number: int) -> str:
    """The execution of a step for one item, in logs and records; no step of a definition can be named so (S73)."""
    return f"{step}[{number}]"


def item_of(name: str) -> tuple[str, int] | None:
    """The step and the number that such a name stands for; none if it is a step's own."""
    match = _ITEM.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def checked_items(value: Any, what: str) -> list[Any]:
    """The items of `foreach`; InputError if the value is no list of them (S73)."""
    if not isinstance(value, list | tuple):
        have = "nothing" if value is None else f"a {'text' if isinstance(value, str) else 'single value'}"
        raise InputError(f"foreach needs a list, and {what} is {have}: it takes a JSON list")
    if len(value) > MAX_ITEMS:
        raise InputError(f"{what} has {len(value):,} items, and foreach takes at most {MAX_ITEMS:,}")
    if None in value:
        raise InputError(f"{what} has null at place {list(value).index(None)}: leave it out")
    return list(value)


def size_of(outputs: Mapping[str, Any]) -> int:
    """Bytes that outputs take of what a run may hand on."""
    return sum(len(to_json(value).encode()) for value in outputs.values())


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _bad_line(number: int, line: str, why: str) -> InputError:
    return InputError(
        f"line {number} of ${VARIABLE} hands nothing on, {why}: write NAME=text or a JSON object, "
        f"not {clip(line, 60)!r}"
    )
