"""Job files: YAML text, a file or a folder → definitions, and all errors in them.

The modules in the order in which a text passes through them: `text` finds files and splits them into documents,
`composer` parses a document into nodes with positions, `sources.spec` reads these, `crosschecks` checks what
depends on several definitions. `reader` runs these steps for one document. Errors are returned and not raised, so
that a bad document hides no other.
"""

from dataclasses import dataclass
from pathlib import Path

from ..defaults import NO_DEFAULTS, Defaults
from ..spec.error import DefinitionError
from ..spec.schema import json_schema
from ..templates import BUILT_IN, Template
from .crosschecks import cross_check
from .reader import LocatedJob, ParsedDocument, read_documents
from .text import job_files, read_file

__all__ = [
    "BUILT_IN",
    "DefinitionError",
    "Loaded",
    "LocatedJob",
    "Template",
    "json_schema",
    "read_path",
    "read_text",
]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The definitions and errors of a file or a folder."""

    jobs: tuple[LocatedJob, ...]
    errors: tuple[DefinitionError, ...]


def read_text(
    text: str,
    file: str,
    default_name: str,
    defaults: Defaults = NO_DEFAULTS,
) -> tuple[list[LocatedJob], list[DefinitionError]]:
    """The definitions of a text; each is checked by itself."""
    documents, errors = read_documents(text, file, default_name, defaults)
    return [document.located for document in documents if document.located], errors


def read_path(
    path: Path,
    known_schedules: frozenset[str] = frozenset(),
    defaults: Defaults = NO_DEFAULTS,
) -> Loaded:
    """The definitions of a file, or of all *.yaml and *.yml in a folder and below, hidden ones left out.

    `known_schedules` are the names that `after` may use besides those found here.
    """
    documents: list[ParsedDocument] = []
    errors: list[DefinitionError] = []
    for file in job_files(path, errors):
        text = read_file(file, errors)
        if text is not None:
            parsed, wrong = read_documents(text, str(file), file.stem, defaults)
            documents += parsed
            errors += wrong
    kept, refused = cross_check(documents, known_schedules)
    return Loaded(tuple(document.located for document in kept if document.located), (*errors, *refused))
