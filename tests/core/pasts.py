"""The past of a world as a store keeps it, and what is read back from it."""

from tickwise.core.definition import JobDefinition
from tickwise.core.simulation.past import Past, PastDecision, PastRun, PastSuccess, circumstances_of
from tickwise.core.simulation.replay import Replay, replay
from tickwise.core.states import RunState

from .world import World


def past_of(world: World, name: str, start: str, end: str) -> Past:
    """What is stored of a job in a stretch of time."""
    ledger = world.ledger
    job = ledger.jobs[name]
    schedules = {one.name: ledger.schedules[one.name] for one in job.schedules}
    needed = {after.schedule for one in job.schedules for after in one.policy.after}
    return Past(
        job, schedules, world.at(start), world.at(end),
        runs=tuple(
            PastRun(
                run.schedule, run.slot, run.trigger, run.created_at,
                # what a pass ends is over a moment after the pass
                run.finished_at and run.finished_at + (run.state is RunState.CANCELLED), run.state,
            ) for run in ledger.runs.values() if run.job == name
        ),
        decisions=tuple(
            PastDecision(*told) for told in ledger.decisions.values() if told.decision.schedule in schedules
        ),
        successes=tuple(
            PastSuccess(run.schedule, run.slot, run.finished_at)
            for run in ledger.runs.values()
            if run.schedule in needed and run.slot is not None and run.finished_at is not None
            and run.state is RunState.SUCCEEDED
        ),
    )  # fmt: skip


def replayed(past: Past, job: JobDefinition | None = None) -> Replay:
    """How it would have gone with another definition, or with its own."""
    return replay(past, job or past.job, circumstances_of(past))


def story(world: World, told: Replay, name: str) -> list[str]:
    """Slot, what became of it, and when its run was made if that is another time."""
    lines = []
    for (schedule, slot), report in sorted(told.slots.items(), key=lambda item: item[0][1]):
        if schedule == name:
            began = report.run and report.run.started_at
            when = "" if began in (None, slot) else f" at {world.says(began or 0)}"
            lines.append(f"{world.says(slot)} {report.reason.code if not report.run else report.verdict}{when}")
    return lines
