"""The admin token of this machine: made at the first start, in a file that only its owner can read.

The local command line and the browser's sign-in use it. A store that does not know it (a new one) is told of it; a
token that was revoked is replaced.
"""

import os
import secrets
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from ..app.records import AccessRole, Token
from ..app.stores import Store
from ..core.errors import InputError

FOLDER, FILE = ".tickwise", "admin.token"
_OTHERS = 0o022  # who else could write


def digest(secret: str) -> str:
    """What is kept of a token: enough to know it again."""
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def state_folder(url: str) -> Path:
    """The private folder of a store: beside the SQLite file, else in the working folder."""
    parts = urlsplit(url)
    if parts.scheme.partition("+")[0] != "sqlite":
        return Path(FOLDER)
    home = Path(unquote(parts.path).removeprefix("/")).parent
    return home if home.name == FOLDER else home / FOLDER


async def admin_token(store: Store, folder: Path) -> str:
    """The secret, known to the store; made if there is none, or it was revoked."""
    file = _private(folder) / FILE
    secret = _read(file) or _written(file, secrets.token_urlsafe(32))
    known = await store.access.token(digest(secret))
    if known is None:
        await _issue(store, secret)
    elif known.revoked_at is not None:
        file.unlink()
        return await admin_token(store, folder)
    return secret


async def _issue(store: Store, secret: str) -> None:
    mark = digest(secret)
    await store.access.issue(Token(uuid4().hex, f"local admin {mark[:8]}", AccessRole.ADMIN), mark)


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & _OTHERS:
        raise InputError(f"others may write to {folder}, where the admin token is kept: chmod 700 {folder}")
    return folder


def _read(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}: mend it, or delete it for a new token") from None


def _written(file: Path, secret: str) -> str:
    """The secret, or that of who was first."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(file)
    with os.fdopen(handle, "w", encoding="ascii") as opened:
        opened.write(f"{secret}\n")
    return secret
