"""The secrets that a run could print: of its definition, its params, and the worker that executes it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..core.definition import JobDefinition
from ..core.errors import InputError
from ..core.mask import hidden_texts
from ..core.redaction import Redactor, redactor_of
from ..core.references import REFERENCE, fill_text
from ..core.requirements import has_commands
from ..core.variables import is_ordinary
from .context import RunContext
from .executors.arguments import params_of
from .private_values import NO_PRIVATE_VALUES, PrivateValues

_PARTS = ("env", "steps", "preconditions", "on")  # of a definition; all but its params


def may_have_secrets(job: JobDefinition) -> bool:
    """Whether a definition has any part that could hold one; most functions have none."""
    return bool(job.env or job.params or job.env_file) or has_commands(job)


def secrets_of(job: JobDefinition, run: RunContext) -> frozenset[str]:
    """The values that the definition hides, with this run's params in place of references to them."""
    parts = {name: _as_mappings(getattr(job, name)) for name in _PARTS}
    return frozenset(_filled(hidden_texts({**parts, "params": run.params}), run))


def redactor_of_run(
    worker: Redactor, job: JobDefinition, run: RunContext, private: PrivateValues = NO_PRIVATE_VALUES
) -> Redactor:
    """What hides the secrets of a run, besides those of its worker."""
    whole = replace(run, params=params_of(job, run.params))
    return redactor_of(worker.texts | secrets_of(job, whole) | private.hidden)


def secrets_of_worker(environ: Mapping[str, str], settings: Mapping[str, Any]) -> frozenset[str]:
    """The secrets of a worker itself, which functions of its program could print."""
    variables = {name: value for name, value in environ.items() if not is_ordinary(name)}
    return hidden_texts([variables, settings])


def _filled(texts: frozenset[str], run: RunContext) -> Iterator[str]:
    """A text that is one reference is as secret as the param, which is looked at by itself."""
    for text in texts:
        if not REFERENCE.search(text):
            yield text
        elif not REFERENCE.fullmatch(text):
            with suppress(InputError):  # a reference to nothing: the step will fail
                yield fill_text(text, run.references())


def _as_mappings(value: Any) -> Any:
    """A value of the core with mappings in place of its dataclasses."""
    if is_dataclass(value):
        return {field.name: _as_mappings(getattr(value, field.name)) for field in fields(value)}
    return [_as_mappings(item) for item in value] if isinstance(value, tuple) else value
