"""Secrets of a worker, by name: resolved just before a run that refers to them begins, and never stored (S76).

A definition says `${secret:NAME}`. The settings of the worker say where the value is:

    [secrets]
    db_password = "env:DB_PASSWORD"        # a variable of the worker
    api_key = "file:/run/secrets/api_key"  # the text of a file, without its last line end
    mail = "command:pass show mail"        # what a program prints, without its last line end
"""

import asyncio
import os
import shlex
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.references import OUTPUT_NAME
from ..toml_table import read_table

KINDS = ("env", "file", "command")
_MAX_SIZE = 65_536  # bytes
_TIMEOUT = 30.0  # seconds for a program, which may ask somebody for a password


def read_secret_places(value: Any) -> dict[str, str]:
    """The table `[secrets]` of the settings. A string is TOML."""
    table = read_table(value, 'a table: [secrets], and in it lines such as db_password = "env:DB_PASSWORD"')
    for name, place in table.items():
        if not OUTPUT_NAME.fullmatch(name):
            raise InputError(f"{name[:60]!r} cannot be the name of a secret: use letters, digits, _ and -")
        kind, _, where = place.partition(":") if isinstance(place, str) else ("", "", "")
        if kind not in KINDS or not where:  # the text may be a secret itself, so it is not shown
            raise InputError(f"{name} must begin with env:, file: or command:, and say where the secret is")
    return dict(table)


class SecretProviders:
    """Finds the secrets that the settings of a worker name."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    async def values(self, names: Iterable[str]) -> dict[str, str]:
        """The values of these secrets; InputError if one is not to be had."""
        return {name: await self._value(name) for name in sorted(names)}

    async def _value(self, name: str) -> str:
        if name not in self._places:
            near = did_you_mean(nearest_word(name, list(self._places)))
            raise InputError(
                f"this worker has no secret {name}{near}: add it to [secrets] in its tickwise.toml, "
                f'such as {name} = "env:{name.upper().replace("-", "_")}"'
            )
        kind, _, where = self._places[name].partition(":")
        try:
            value = await _READERS[kind](where)
        except (InputError, OSError, ValueError, TimeoutError) as error:
            reason = str(error) or f"it took more than {_TIMEOUT:g} s"
            raise InputError(f"the secret {name} ({kind}) is not to be had: {reason}") from None
        if not value:
            raise InputError(f"the secret {name} ({kind}) is empty")
        return value


async def _read_variable(name: str) -> str:
    if name not in os.environ:
        raise InputError(f"this worker has no variable {name}")
    return os.environ[name]


async def _read_file(path: str) -> str:
    return _text(await asyncio.to_thread(_beginning_of, Path(path)))


def _beginning_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_SIZE + 1)


async def _read_program(command: str) -> str:
    program = await asyncio.create_subprocess_exec(
        *shlex.split(command), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            data, _ = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
    if program.returncode:
        raise InputError(f"its program ended with exit code {program.returncode}")
    return _text(data)


def _text(data: bytes) -> str:
    if len(data) > _MAX_SIZE:
        raise InputError(f"it has more than {_MAX_SIZE:,} bytes")
    return data.decode("utf-8").removesuffix("\n").removesuffix("\r")


_READERS = {"env": _read_variable, "file": _read_file, "command": _read_program}
NO_PROVIDERS = SecretProviders({})
