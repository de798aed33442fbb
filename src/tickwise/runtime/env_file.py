"""Files of variables, as `env_file` names them: lines `NAME=value`, which a worker reads when a run begins.

A `#` begins a comment line. A value may stand in quotes, which are taken off; nothing in it is evaluated.
"""

import re
from pathlib import Path

from ..core.errors import InputError
from ..core.payload import clip

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*", re.ASCII)
_MAX_SIZE = 1_048_576  # bytes


def read_env_file(path: str, folder: str | None) -> dict[str, str]:
    """The variables of a file; a relative path begins at the folder. InputError says what is wrong, and where."""
    place = Path(folder or ".") / path
    try:
        with place.open("rb") as file:
            data = file.read(_MAX_SIZE + 1)
    except OSError as error:
        raise InputError(f"env_file {place} cannot be read on this worker: {error.strerror}") from None
    if len(data) > _MAX_SIZE:
        raise InputError(f"env_file {place} has more than {_MAX_SIZE:,} bytes")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"env_file {place} is not UTF-8 text") from None
    variables: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found = _LINE.fullmatch(line)
            if found is None or "\0" in line:
                start = clip(line.partition("=")[0].strip(), 40)  # what follows may be a secret
                raise InputError(f"env_file {place}, line {number}: {start!r} is not NAME=value")
            variables[found[1]] = _unquoted(found[2])
    return variables


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
