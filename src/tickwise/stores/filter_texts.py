"""What the texts of filters mean in every store."""

from collections.abc import Mapping

from ..core.run_query import matches
from .records import RunFilter
from .validation import is_number


def run_number_in(wanted: RunFilter) -> int | None:
    """The text of a filter, if that can be the id of a run."""
    return int(wanted.text) if wanted.text and is_number(wanted.text) else None


def is_part_of_name(text: str, *names: str | None) -> bool:
    """Whether a text is part of one of these names, in any case."""
    return any(text.lower() in name.lower() for name in names if name is not None)


def like_pattern(text: str | None) -> str | None:
    """The pattern that `LIKE … ESCAPE '!'` compares with lower-case names, to the same effect."""
    if text is None:
        return None
    plain = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{plain}%"


def star_pattern(text: str | None) -> str | None:
    """The same for a pattern in which `*` stands for any text."""
    found = like_pattern(text)
    return None if found is None else found.replace("*", "%")


def has_words(words: tuple[str, ...], id_: str, error: str, *names: str | None) -> bool:
    """Whether each pattern is part of the error or a name, or is the id."""
    texts = [error, *(name for name in names if name is not None)]
    return all(word == id_ or any(matches(word, text) for text in texts) for word in words)


def has_label(labels: Mapping[str, str], wanted: str) -> bool:
    """Whether a job has a label, `key` or `key=value`."""
    key, given, value = wanted.partition("=")
    return key in labels and (not given or labels[key] == value)
