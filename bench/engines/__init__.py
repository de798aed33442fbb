"""How fast runs are handed over to Celery, beside Celery beat, which only publishes.

Both send to the same broker, and the same worker calls the same task. A run of ours is enqueued, leased, its
intent is stored, the message is sent, the worker asks the gate, calls the task and reports the end, which is
stored durably. Beat sends the message and keeps no record. So the ratio is the price of all that.
"""

from tickwise.core.errors import InputError

from ..measure import Figures, Progress
from ..postgres import postgres
from ..redis import redis
from ..report import Row
from ..stores.contender import in_turns
from .celery_beat import BeatContender
from .celery_hand_over import HandOverContender
from .size import FULL, QUICK, EnginesSize

__all__ = ["FULL", "QUICK", "EnginesSize", "rows"]


def rows(progress: Progress = lambda _: None, size: EnginesSize = FULL) -> list[Row]:
    """Measure what can be measured here; a note names what cannot."""
    return [Row.of(what, ours, unit, peer=peer) for what, ours, unit, peer in _measure_all(size, progress)]


def _measure_all(size: EnginesSize, progress: Progress) -> Figures:
    progress("starting PostgreSQL and Valkey")
    try:
        with postgres() as server, redis() as broker:
            progress("handing runs over to Celery")
            handed, beat = HandOverContender(server, broker, size.runs), BeatContender(broker, size.runs)
            ours, theirs = in_turns(size.turns, [handed, beat])
            name = f"hand over {size.runs:,} runs to Celery, gate and end included, Celery beat"
            yield name, ours.best, "runs/s", (beat.name, theirs.best)
            yield "the same, until the last has begun", max(handed.begun), "runs/s", None
            yield "publish only, Celery beat", max(beat.published), "messages/s", None
    except InputError as error:
        progress(f"note: the hand-over is left out: {error}")
