"""How the work of a handed-over attempt names its end when it reports it over the API."""

from .errors import TickwiseError
from .settle import Cancelled, Failed, HandedBack, Outcome, Snoozed, Succeeded, Unmet

_PLAIN: dict[str, Outcome] = {  # what only a store or a watcher can find out has no word
    "succeeded": Succeeded(),
    "cancelled": Cancelled(),
    "handed_back": HandedBack(),
    "unmet": Unmet(),
}
REPORTED = (*_PLAIN, "failed", "snoozed")
_WORDS = {outcome: word for word, outcome in _PLAIN.items()}


def outcome_of(word: str, seconds: int | None) -> Outcome:
    """The outcome of a word; `seconds` is when a failure wants to be tried again, or how long a snooze is."""
    match word:
        case "failed":
            return Failed(seconds)
        case "snoozed":
            return Snoozed(seconds or 0)
    return _PLAIN[word]


def reported(outcome: Outcome) -> tuple[str, int | None]:
    """The word and the seconds of an outcome; `outcome_of` reads them back."""
    match outcome:
        case Failed(seconds):
            return "failed", seconds
        case Snoozed(seconds):
            return "snoozed", seconds
        case _ if outcome in _WORDS:
            return _WORDS[outcome], None
    raise TickwiseError(f"work does not report that it is {outcome}")
