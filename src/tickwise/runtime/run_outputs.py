"""What a whole run hands on to the step of another run that has waited for it (S74)."""

from collections.abc import Mapping
from typing import Any

from ..core.step_outputs import returned_outputs
from ..stores.contract import Store
from ..stores.records import RunRow
from .run_journal import done_steps


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
