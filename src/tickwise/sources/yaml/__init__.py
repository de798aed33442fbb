"""Job files: YAML text, a file or a folder → definitions, and all that is wrong with them.

The rooms behind this door, in the order a text goes through them: `text` cuts it into documents, `nodes` composes
them with their places, `spec` checks each value, `build` what depends on several, `together` what only the whole
set shows. Nothing raises: errors are returned, so that one bad document hides no other.
"""

from dataclasses import dataclass
from pathlib import Path

from ..defaults import NO_DEFAULTS, Defaults
from ..templates import BUILT_IN, Template
from .crosschecks import cross_check
from .error import DefinitionError
from .files import job_files, text_of
from .reader import Placed, Read, Reader
from .schema import json_schema
from .text import UnusableText, split

__all__ = ["BUILT_IN", "DefinitionError", "Loaded", "Placed", "Template", "json_schema", "read_path", "read_text"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file or a folder holds."""

    jobs: tuple[Placed, ...]
    errors: tuple[DefinitionError, ...]


def read_text(
    text: str,
    file: str,
    default_name: str,
    defaults: Defaults = NO_DEFAULTS,
) -> tuple[list[Placed], list[DefinitionError]]:
    """The definitions of a text, each by itself."""
    documents, errors = _read(text, file, default_name, defaults)
    return [document.placed for document in documents if document.placed], errors


def read_path(
    path: Path,
    known_schedules: frozenset[str] = frozenset(),
    defaults: Defaults = NO_DEFAULTS,
) -> Loaded:
    """The definitions of a file, or of all *.yaml and *.yml in a folder and below, hidden ones left out.

    `known_schedules` are the names that `after` may use besides those found here.
    """
    documents: list[Read] = []
    errors: list[DefinitionError] = []
    for file in job_files(path, errors):
        text = text_of(file, errors)
        if text is not None:
            found, wrong = _read(text, str(file), file.stem, defaults)
            documents += found
            errors += wrong
    kept, refused = cross_check(documents, known_schedules)
    return Loaded(tuple(document.placed for document in kept if document.placed), (*errors, *refused))


def _read(text: str, file: str, default_name: str, defaults: Defaults) -> tuple[list[Read], list[DefinitionError]]:
    try:
        sources = split(text)
    except UnusableText as error:
        return [], [DefinitionError(str(error), file=file, line=error.line, column=error.column)]
    if not sources:
        return [], [DefinitionError("there is no job in this file", file=file, line=1, column=1)]
    reader = Reader(file, defaults)
    documents = [reader.read(source, None if i else default_name) for i, source in enumerate(sources)]
    return documents, [error for document in documents for error in document.errors]
