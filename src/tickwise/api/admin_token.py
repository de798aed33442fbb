"""The admin token of this machine, made at the first start.

A store that does not know the token yet is given it; a token that was revoked is replaced by a new one.
"""

import secrets
from pathlib import Path
from uuid import uuid4

from ..app.records import AccessRole, Token
from ..app.stores import Store
from ..ownership import STRICT, WriterCheck
from .token_file import FILE, digest, private_folder, read_secret, write_secret


async def admin_token(store: Store, folder: Path, writers: WriterCheck = STRICT) -> str:
    """The secret, known to the store; made if there is none, or it was revoked."""
    file = private_folder(folder, writers) / FILE
    secret = read_secret(file, writers) or write_secret(file, secrets.token_urlsafe(32), writers)
    known = await store.access.token(digest(secret))
    if known is None:
        await _issue(store, secret)
    elif known.revoked_at is not None:
        file.unlink()
        return await admin_token(store, folder, writers)
    return secret


async def _issue(store: Store, secret: str) -> None:
    mark = digest(secret)
    await store.access.issue(Token(uuid4().hex, f"local admin {mark[:8]}", AccessRole.ADMIN), mark)
