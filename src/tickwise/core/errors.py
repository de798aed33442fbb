"""Errors by whose fault they are; the edges (HTTP, command line) map them by the two hints each class has."""

from difflib import get_close_matches


class TickwiseError(Exception):
    """The one base. Its own fault is ours: a bug or a broken invariant."""

    http_status = 500
    exit_code = 1


class InputError(TickwiseError, ValueError):
    """The caller's fault: what was given cannot be used, and nothing was changed."""

    http_status = 422
    exit_code = 2


class ConflictError(TickwiseError):
    """Nobody's fault: what is asked for contradicts what is already there, and nothing was changed."""

    http_status = 409
    exit_code = 1


class CronError(InputError):
    """A cron text that cannot be used.

    `field` names the part (`minute` … `weekday`, `timezone`, `expression`), `text` is the offending piece
    and `position` where it starts in the whole text. The message ends with the text and a caret line.
    """

    _SHOWN = 72

    def __init__(self, problem: str, *, source: str, field: str, position: int, text: str) -> None:
        self.problem = problem
        self.field = field
        self.position = position
        self.text = text
        super().__init__(f"{problem}\n{self._picture(source)}")

    def _picture(self, source: str) -> str:
        start = max(0, min(self.position, len(source)) - self._SHOWN // 2)
        excerpt = source[start : start + self._SHOWN]
        shown = "".join(c if c.isprintable() else "�" for c in excerpt)
        before = "…" if start else ""
        after = "…" if start + self._SHOWN < len(source) else ""
        indent = " " * (2 + len(before) + self.position - start)
        carets = "^" * max(1, min(len(self.text), len(excerpt) - (self.position - start)))
        return f"  {before}{shown}{after}\n{indent}{carets}"


def nearest(word: str, right_words: list[str]) -> str:
    """` (did you mean X?)` if one of the right words is close, else nothing; case does not count."""
    by_folded = {w.casefold(): w for w in right_words}
    found = get_close_matches(word[:100].casefold(), by_folded, n=1, cutoff=0.6)
    return f" (did you mean {by_folded[found[0]]}?)" if found else ""
