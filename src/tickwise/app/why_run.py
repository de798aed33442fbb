"""Why a run happened."""

from ..core.instant import iso
from ..core.model import Trigger
from ..core.reasons import Reason
from ..stores.contract import Store
from ..stores.records import MICRO, RunRow
from .chain import Link, of_run, sentence
from .values import instant
from .why import Answer, waits, why

_ASKED = {
    Trigger.MANUAL: ("by hand", "somebody asked for it{by}, at {at}", "Nothing to do."),
    Trigger.ENQUEUE: ("by code", "code enqueued it{by}, at {at}", "Nothing to do."),
    Trigger.RESTART: ("restart", "the restart schedule asked for it, for {at}", "Nothing to do."),
}


async def why_run(store: Store, run: RunRow) -> Answer:
    """By its slot if that is still told, else by what made it."""
    if run.schedule is not None and run.slot is not None and await store.insights.schedule(run.schedule):
        return await why(store, run.schedule, run.slot)
    label, text, advice = _ASKED.get(run.trigger, (str(run.trigger), Reason.ON_TIME.text, "Nothing to do."))
    by = f" ({run.by})" if run.by else ""
    waiting = tuple([reason async for reason in waits(store, run)])
    told = text.format(by=by, at=iso(run.created_at // MICRO))
    links = (Link("asked", sentence(told), "yes"), *of_run(run, waiting), Link("what to do", advice, "do"))
    return Answer(
        run.schedule or run.job, instant(run.slot), "fired", label.replace(" ", "_"), told, advice, run.id,
        (f"Run {run.id} is {run.state}.", *waiting), links,
    )  # fmt: skip
