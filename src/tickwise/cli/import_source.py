"""What `tickwise import` reads: files, a folder, stdin, or what this machine has. Bounded, and never executed."""

import os
import subprocess
from pathlib import Path

import typer

from ..core.errors import InputError

_MAX_BYTES, _MAX_FILES = 1_048_576, 1_000


def machine_zone() -> str:
    """The name of this machine's zone, as TZ or /etc/localtime names it; UTC if neither does."""
    linked = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    return linked.removeprefix("Etc/") or "UTC"


def is_system_crontab(source: str | None) -> bool:
    return source is not None and os.path.realpath(source).startswith(("/etc/cron.d", "/etc/crontab"))


def read_files(source: str, patterns: tuple[str, ...]) -> dict[str, str]:
    """The text of a file, of all matching files below a folder, or of stdin, by their names."""
    if source == "-":
        return {"stdin": _decode(typer.get_binary_stream("stdin").read(_MAX_BYTES + 1), "stdin")}
    path = Path(source)
    found = _files_below(path, patterns) if path.is_dir() else [path]
    if len(found) > _MAX_FILES:
        raise InputError(f"{source} has more than {_MAX_FILES} files: name a folder below it")
    if not found:
        raise InputError(f"{source} has no file like {' or '.join(patterns)}")
    return {str(file): _read_file(file) for file in found}


def _files_below(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """The files with such names, hidden ones left out; one that several links name is read once."""
    found = sorted(file for pattern in patterns for file in folder.rglob(pattern) if file.is_file())
    return list({file.resolve(): file for file in reversed(found) if file.name[0] != "."}.values())[::-1]


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _decode(file.read(_MAX_BYTES + 1), str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _decode(data: bytes, name: str) -> str:
    if len(data) > _MAX_BYTES:
        raise InputError(f"{name} is larger than 1 MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data.startswith(b"SQLite format 3"):
            raise InputError(f"{name} is a database: write sqlite:///{name}") from None
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{name}:{line}: it is no text in UTF-8") from None


def read_own_crontab() -> dict[str, str]:
    """What `crontab -l` prints."""
    try:
        done = subprocess.run(["crontab", "-l"], capture_output=True, check=False)  # noqa: S607  (the user's own)
    except OSError:
        raise InputError("there is no program crontab here: name a file, such as /etc/crontab") from None
    if done.returncode:
        raise InputError(done.stderr.decode(errors="replace").strip() or "crontab -l failed")
    return {"crontab": _decode(done.stdout, "crontab -l")}
