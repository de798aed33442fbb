"""The file with the admin token of this machine, which only its owner can read.

The local command line and the browser's sign-in read it; `admin_token` makes it.
"""

import os
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..core.errors import InputError
from ..ownership import WriterCheck

FOLDER, FILE = ".tickwise", "admin.token"


def digest(secret: str) -> str:
    """What the store keeps of a token: enough to recognize it."""
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def state_folder(url: str) -> Path:
    """The private folder of a store: beside the SQLite file, else in the working folder."""
    parts = urlsplit(url)
    if parts.scheme.partition("+")[0] != "sqlite":
        return Path(FOLDER)
    home = Path(unquote(parts.path).removeprefix("/")).parent
    return home if home.name == FOLDER else home / FOLDER


def private_folder(folder: Path, writers: WriterCheck) -> Path:
    """The folder, made if it is missing; refused if others may write to it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    writers.check(folder)
    return folder


def read_secret(file: Path, writers: WriterCheck) -> str:
    """The secret in the file; empty if there is none. Refused if another user may have written it."""
    try:
        return writers.read(file, follow=False).decode("ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}: mend it, or delete it for a new token") from None


def write_secret(file: Path, secret: str, writers: WriterCheck) -> str:
    """Write a secret into a new file; if another process was first, return the secret of that one."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return read_secret(file, writers)
    with os.fdopen(handle, "w", encoding="ascii") as opened:
        opened.write(f"{secret}\n")
    return secret
