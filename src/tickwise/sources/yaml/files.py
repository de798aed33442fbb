"""Job files on disk: which there are, and their text. What cannot be read is an error beside the others."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .error import DefinitionError
from .text import LARGEST, UnusableText

SUFFIXES = (".yaml", ".yml")


def job_files(path: Path, errors: list[DefinitionError]) -> Iterator[Path]:
    """The job files of a path, each folder's in the order of their names; links to folders are not followed."""
    if not os.path.isdir(path):  # noqa: PTH112  (Path.is_dir raises where it may not look)
        yield path
        return
    folders = [path]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            errors.append(DefinitionError(f"the folder cannot be read: {error.strerror}", file=str(folder)))
            continue
        shown = [(Path(entry.path), _is_folder(entry)) for entry in entries if entry.name[:1] != "."]
        yield from (file for file, is_folder in shown if not is_folder and file.name.endswith(SUFFIXES))
        folders += [inner for inner, is_folder in reversed(shown) if is_folder]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def text_of(file: Path, errors: list[DefinitionError]) -> str | None:
    try:
        return _bytes_of(file).decode("utf-8")
    except FileNotFoundError:
        problem = UnusableText("there is no such file or folder")
    except OSError as error:
        problem = UnusableText(f"the file cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = UnusableText("the file is not UTF-8 text: save it as UTF-8", line, 1)
    except ValueError:
        problem = UnusableText("this cannot be the name of a file")
    except UnusableText as error:
        problem = error
    errors.append(DefinitionError(str(problem), file=str(file), line=problem.line, column=problem.column))
    return None


def _bytes_of(file: Path) -> bytes:
    """All of a file that is not too large; of a pipe or a device not a byte is read."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise UnusableText("this is not a regular file")
    with file.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UnusableText(f"larger than {LARGEST >> 20} MiB")
    return data
