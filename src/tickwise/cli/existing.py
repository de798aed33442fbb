"""Whether a store is there before it is opened: opening makes what is missing."""

from pathlib import Path
from urllib.parse import unquote, urlsplit


def is_there(url: str) -> bool:
    """Whether the file of a SQLite store exists; of other stores a server decides."""
    parts = urlsplit(url)
    return parts.scheme != "sqlite" or Path(unquote(parts.path).removeprefix("/")).exists()
