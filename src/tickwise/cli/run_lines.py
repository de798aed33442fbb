"""One line for each attempt that ends: what `serve` and `worker` print on a terminal."""

from ..app.hooks import RunEvent
from ..clock import monotonic, now
from ..core.payload import first_line
from .output import plain, print_line, style_of

_MAX_LINES = 20  # in a second; the others are counted
_MAX_STARTS = 10_000  # attempts whose start is remembered


class RunLines:
    """A hook for runs that prints how each attempt ended, and how long it took."""

    def __init__(self) -> None:
        self._starts: dict[str, float] = {}
        self._second = 0
        self._lines = 0  # in this second

    def __call__(self, event: RunEvent) -> None:
        if event.what == "started":
            if len(self._starts) < _MAX_STARTS:
                self._starts[event.run] = monotonic()
            return
        started = self._starts.pop(event.run, None)
        second = int(monotonic())
        if second != self._second:
            if self._lines > _MAX_LINES:
                print_line(f"… and {self._lines - _MAX_LINES} more: tickwise runs list", "dim")
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines <= _MAX_LINES:
            _print_end(event, None if started is None else monotonic() - started)


def _print_end(event: RunEvent, elapsed: float | None) -> None:
    line = plain(f"{now():%H:%M:%S}Z  ", "dim") + plain(f"{event.job}  ")
    line += plain(event.what.replace("_", " "), style_of(event.what))
    line += plain("" if elapsed is None else f" in {elapsed:.1f}s")
    if event.error:
        line += plain(f": {first_line(event.error)}")
    if event.state == "queued":
        line += plain(", and is tried again", "dim")
    elif event.what == "failed":
        line += plain(f"  (tickwise runs logs {event.run})", "dim")
    print_line(line)
