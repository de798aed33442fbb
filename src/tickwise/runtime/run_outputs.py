"""What the steps of a run have handed on, and what the whole run hands on to a step that waits for it (S74)."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..core.payload import decode
from ..core.step_outputs import returned_outputs
from ..stores.contract import Store
from ..stores.records import RunRow, StepReport
from .context import StepState


def done_steps(reports: Iterable[StepReport]) -> dict[str, dict[str, Any]]:
    """The steps that have succeeded, with what they handed on."""
    done = (report for report in reports if report.state == StepState.SUCCEEDED)
    return {report.name: decode(report.outputs) if report.outputs else {} for report in done}


async def outputs_of(store: Store, run: RunRow) -> Mapping[str, Any]:
    """The result of a job with one action; of a pipeline, what the steps hand on that none depends on."""
    if run.result is not None:
        return returned_outputs(run.result)
    definition = await store.insights.definition_of(run.id)
    steps = definition.steps if definition else ()
    needed = {name for step in steps for name in step.depends}
    done = done_steps(await store.insights.steps(run.id)) if steps else {}
    last = [done.get(step.name, {}) for step in steps if step.name not in needed]
    return {name: value for outputs in last for name, value in outputs.items()}
