"""Requirements that a lease leaves out, because the worker does not offer them (S46)."""

from collections.abc import Iterable

from ..core.requirements import Offers

_MAX_ENTRIES = 10_000


class UnmetRequirements:
    """Requirements of queued runs that some worker of this process does not offer.

    A worker offers nearly all that the runs of its queues require, and may offer thousands of functions. So a
    query does not name what it offers but what was found in its queues and is not among that.
    """

    def __init__(self) -> None:
        self._found: set[str] = set()

    def beyond(self, offers: Offers) -> list[str]:
        """Those that a worker does not offer."""
        if len(self._found) > _MAX_ENTRIES:  # most belong to runs that are over; the others are found again
            self._found.clear()
        return sorted(requires for requires in self._found if not offers.allow(requires))

    def learn(self, found: Iterable[str], offers: Offers) -> bool:
        """Whether some of these are not offered; then `beyond` names them."""
        new = {requires for requires in found if not offers.allow(requires)}
        self._found |= new
        return bool(new)
