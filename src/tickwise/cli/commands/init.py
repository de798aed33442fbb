"""`tickwise init`: a folder to begin with."""

import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from ...core.errors import ConflictError, InputError
from ..output import AsJson, print_json, print_line
from ..starter_files import APP_FILES, JOB_FILES

_FOLDER_MODE, _FILE_MODE = 0o755, 0o644  # a file that a group may write would not be used


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Default: this folder.")] = Path(),
    *,
    app: Annotated[bool, typer.Option("--app", help="Jobs in Python instead of job files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a folder with settings, a job that runs at once and a daily one. Nothing is overwritten."""
    files = APP_FILES if app else JOB_FILES
    if existing := [name for name in files if os.path.lexists(folder / name)]:
        raise ConflictError(f"{folder / existing[0]} exists, so nothing was written: name another folder")
    try:
        _write_all(folder, files)
    except OSError as error:
        raise InputError(f"{error.filename or folder} cannot be written: {error.strerror}") from None
    next_step = _next_step(folder, "tickwise serve app:tw --reload" if app else "tickwise serve jobs")
    if as_json:
        print_json({"folder": str(folder), "files": list(files), "next": next_step})
        return
    for name in files:
        print_line(f"made {folder / name}")
    print_line(f"Next: {next_step}", "bold")


def _write_all(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "w") as file:
            file.write(text)


def _next_step(folder: Path, serve: str) -> str:
    return serve if folder == Path() else f"cd {quote(str(folder))} && {serve}"
