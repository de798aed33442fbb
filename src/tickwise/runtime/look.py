"""One look of a step at what others do for it: a child, or an answer (S74, S75)."""

from collections.abc import Awaitable, Callable

from ..core.payload import first_line
from ..core.settle import Waits
from ..core.step_waits import StepWait
from ..stores.contract import StoreUnavailableError
from .executors.result import AttemptResult, failed
from .step_context import WaitingStep

_STORE_PAUSE = 5  # seconds until the next look, if the store does not answer


async def looked(look: Callable[[], Awaitable[AttemptResult]], waiting: WaitingStep, what: str) -> AttemptResult:
    """What a look has found; if the store does not answer, there is another one. `what` has not begun then."""
    try:
        return await look()
    except StoreUnavailableError as error:
        problem = first_line(str(error))
        if waiting.wait is None:
            return failed(f"{what}: {problem}")
        return AttemptResult(Waits(_STORE_PAUSE), error=f"the store ({problem})", wait=waiting.wait)


def still_waits(wait: StepWait, now: int, until: int | None, what: str) -> AttemptResult:
    """Nothing has happened yet; `what` says for people what is waited for."""
    return AttemptResult(Waits(wait.next_look(now, until)), error=what, wait=wait)
