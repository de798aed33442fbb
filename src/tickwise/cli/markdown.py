"""Texts of other people in Markdown: shown as they are, in one line, and notifying nobody."""

import re
from collections.abc import Iterable, Iterator, Sequence


def escape(text: str) -> str:
    """The text so that Markdown shows it as it is, in one line, and notifies nobody."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"[^\w\s.,:;+\-/→–−…()%]|_", lambda found: f"&#{ord(found[0])};", line)


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(map(escape, row))} |"
