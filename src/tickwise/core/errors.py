"""Errors by whose fault they are; the edges (HTTP, command line) map them by the two hints each class has.

What an error is about is data as well as text: `field` names the value, `position` the character in it, `nearest`
the word that was probably meant. Nobody reads these back out of a message.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from shlex import quote


class TickwiseError(Exception):
    """The one base. Its own fault is ours: a bug or a broken invariant."""

    http_status = 500
    exit_code = 1
    retry_after: int | None = None  # seconds after which asking again may help

    def __init__(
        self, text: str = "", *, field: str | None = None, position: int | None = None, nearest: str | None = None
    ) -> None:
        super().__init__(text)
        self.field = field  # the way to the value that is wrong: `schedule`, `steps.2.command`
        self.position = position  # where in its text, counted from 0
        self.nearest = nearest  # what was probably meant


class InputError(TickwiseError, ValueError):
    """The caller's fault: what was given cannot be used, and nothing was changed."""

    http_status = 422
    exit_code = 2

    def reworded(self, text: str, *, field: str | None = None) -> "InputError":
        """The same fault in other words, and about a field if that is known only now."""
        return InputError(text, field=field or self.field, position=self.position, nearest=self.nearest)


class NotFoundError(InputError):
    """Nothing has the name or the id that was given, as far as the caller may see."""

    http_status = 404


class ConflictError(TickwiseError):
    """Nobody's fault: what is asked for contradicts what is already there, and nothing was changed."""

    http_status = 409
    exit_code = 1


class StaleVersionError(ConflictError):
    """A newer version than the one that was to be changed is there: read it, and look at the change again."""


class CronError(InputError):
    """A cron text that cannot be used.

    `field` names the part (`minute` … `weekday`, `timezone`, `expression`), `text` is the offending piece
    and `position` where it starts in the whole text. The message ends with the text and a caret line.
    """

    _SHOWN = 72
    position: int

    def __init__(
        self, problem: str, *, source: str, field: str, position: int, text: str, nearest: str | None = None
    ) -> None:
        self.problem = problem
        self.text = text
        picture = self._picture(source, position)
        super().__init__(f"{problem}\n{picture}", field=field, position=position, nearest=nearest)

    def _picture(self, source: str, position: int) -> str:
        start = max(0, min(position, len(source)) - self._SHOWN // 2)
        excerpt = source[start : start + self._SHOWN]
        shown = "".join(c if c.isprintable() else "�" for c in excerpt)
        before = "…" if start else ""
        after = "…" if start + self._SHOWN < len(source) else ""
        indent = " " * (2 + len(before) + position - start)
        carets = "^" * max(1, min(len(self.text), len(excerpt) - (position - start)))
        return f"  {before}{shown}{after}\n{indent}{carets}"


def nearest_word(word: str, right_words: Iterable[str]) -> str | None:
    """The right word that is closest, if one is close; case does not count."""
    by_folded = {w.casefold(): w for w in right_words}
    close = get_close_matches(word[:100].casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def did_you_mean(nearest: str | None) -> str:
    """` (did you mean X?)`, as it stands in messages; nothing without a nearest word."""
    return f" (did you mean {nearest}?)" if nearest is not None else ""


def no_such(what: str, name: str, known: Iterable[str], advice: str = "") -> InputError:
    """`there is no job 'refersh' (did you mean refresh?)`, and what to do about it."""
    near = nearest_word(name, known)
    return InputError(f"there is no {what} {name[:100]!r}{did_you_mean(near)}{advice}", nearest=near)


def other_source(name: str, owner: str, source: str) -> ConflictError:
    """Why a source may not change what another has written, and what to do if that source is gone (S50)."""
    return ConflictError(
        f"{name} was defined by {owner or 'another source'}: change or delete it there; from here it can be "
        "paused, triggered, rescheduled and backfilled. If that source is gone, an admin may move what it left: "
        f"tickwise sources move {quote(owner)} {quote(source)}"
    )
