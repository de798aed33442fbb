"""What a worker adds to a run on its side only: the secrets that a job names, and the variables of its file (S76).

Both are read when an attempt begins. They are never stored, and hidden in all that is kept of the run.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..core.definition import HttpCall, JobDefinition
from ..core.references import REFERENCE, SECRET
from ..core.variables import is_ordinary
from .env_file import read_env_file
from .secret_providers import SecretProviders


@dataclass(frozen=True, slots=True)
class PrivateValues:
    """Values by name."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def hidden(self) -> frozenset[str]:
        """The texts that are kept nowhere."""
        of_file = (value for name, value in self.variables.items() if not is_ordinary(name))
        return frozenset(self.secrets.values()) | frozenset(of_file)


NO_PRIVATE_VALUES = PrivateValues()


async def private_values(job: JobDefinition, providers: SecretProviders) -> PrivateValues:
    """Read what a job needs; InputError if something is not to be had."""
    names = secret_names(job)
    if not names and job.env_file is None:
        return NO_PRIVATE_VALUES
    of_file = {} if job.env_file is None else await asyncio.to_thread(read_env_file, job.env_file, job.dir)
    return PrivateValues(await providers.values(names), of_file)


def secret_names(job: JobDefinition) -> frozenset[str]:
    """The secrets that a definition names."""
    found = (name for text in _texts(job) for name in REFERENCE.findall(text))
    return frozenset(name.removeprefix(SECRET) for name in found if name.startswith(SECRET))


def _texts(job: JobDefinition) -> Iterator[str]:
    """All texts of a job where such a reference may stand: variables and headers."""
    actions = (*(step.action for step in job.steps), job.on.success, job.on.failure, job.on.exit)
    headers = (action.headers for action in actions if isinstance(action, HttpCall))
    parts: Iterable[Mapping[str, str]] = (job.env, *(step.env for step in job.steps), *headers)
    for part in parts:
        yield from part.values()
