"""YAML of other tools: documents as plain values, from files that may hold anything."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ..core.errors import InputError

_MAX_DOCUMENTS = 1_000
_MAX_OPEN = 500  # brackets; the time for them grows with their square


def read_yaml(text: str) -> list[Any]:
    """All documents of a text; InputError if one cannot be read. Aliases are shared, never copied."""
    if _open_brackets(text) > _MAX_OPEN:
        raise InputError("it is nested too deeply")
    try:
        return list(_limited(YAML(typ="safe", pure=True).load_all(text)))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise InputError(f"{line}it is no YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None
    except RecursionError:
        raise InputError("it is nested too deeply") from None
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise InputError(f"it is no YAML that can be read: {error}") from None


def _open_brackets(text: str) -> int:
    """How many brackets are open at once, at most; those in texts count, too."""
    depth = most = 0
    for bracket in re.findall(r"[\[{}\]]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        most = max(most, depth)
    return most


def _limited(documents: Iterator[Any]) -> Iterator[Any]:
    for number, document in enumerate(documents):
        if number >= _MAX_DOCUMENTS:
            raise InputError(f"it has more than {_MAX_DOCUMENTS} documents")
        yield document


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping by text; what is none is empty."""
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
