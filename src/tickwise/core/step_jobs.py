"""The jobs that steps with a queue or an engine of their own become (S74).

What such a job says follows from what the whole says, whatever the name of that is. So a worker that trusts the
words of the one trusts those of the other (S46). What the step knows of the run that waits for it comes with the
params of its own run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .definition import Handlers, JobDefinition, RetryPolicy, Step, step_job_name
from .events import STEP_PARAM
from .step_outputs import item_of


def step_jobs(job: JobDefinition) -> Iterator[JobDefinition]:
    """One for each such step."""
    return (step_job(job, step) for step in job.steps if step.is_placed)


def step_job(job: JobDefinition, step: Step) -> JobDefinition:
    """The job of a step, or of one item of a step: the step alone, with what the whole job gives to each.

    What comes before and after it, its retries and its items are left to the run that waits for it.
    """
    name, _ = item_of(step.name) or (step.name, 0)
    alone = Step(name, step.action, env=step.env, dir=step.dir, preconditions=step.preconditions)
    return replace(
        job,
        name=step_job_name(job.name, name),
        steps=(alone,),
        schedules=(),
        description=f"The step {name}, as a job of its own",
        queue=step.queue or job.queue,
        preconditions=(),
        retry=RetryPolicy(),
        timeout=step.timeout,
        on=Handlers(),
        engine=step.engine,
    )


def queues_of(job: JobDefinition) -> frozenset[str]:
    """The queues of its runs, and of those of its steps."""
    return frozenset({job.queue, *(each.queue for each in step_jobs(job))})


def source_of_steps(job: str) -> str:
    """The source of the jobs that the steps of a job become: nobody else writes them (S50)."""
    return f"steps of {job}"


def inherited_facts(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a step knows of the run that waits for it: outputs, an item, the slot; as its params hold it."""
    found = params.get(STEP_PARAM)
    return found if isinstance(found, Mapping) else {}
