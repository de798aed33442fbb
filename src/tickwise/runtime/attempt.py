"""One attempt of one run, from its definition to how it ended.

`execute` never raises, with one exception: if its task is cancelled, it ends everything it started and goes on as
CancelledError. Only who cancelled knows what that means: a person's wish (then `conclude` does what is to be done
after a cancelled run), a worker that shuts down, or a lease that was lost.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from ..core.definition import (
    Action,
    Command,
    Handlers,
    HttpCall,
    JobDefinition,
    Precondition,
    PythonCall,
    Script,
    Step,
)
from ..core.definition import Outcome as Tolerable
from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.payload import clip
from ..core.settle import Cancelled, EndingRun, Failed, Succeeded, settle
from ..core.states import FINAL, RunState
from .context import RunContext, StepState
from .executors.arguments import params_of
from .executors.command import run_command, run_script
from .executors.failure import failure_text
from .executors.function import FunctionPool
from .executors.http import send
from .executors.log import OWN, StepLog
from .executors.preconditions import unmet
from .executors.process import call_in_process, named_target
from .executors.result import AttemptResult, failed
from .executors.timeout import TimedOut, limited
from .pipeline import Pipeline, timed_out
from .step_context import Services, StepContext

Functions: TypeAlias = Mapping[str, Callable[..., Any]]
Act: TypeAlias = Callable[[Step, StepContext], Awaitable[AttemptResult]]
PRECONDITIONS = "job:preconditions"  # their name in the log; no step can have it
_HANDLER = "on:"  # begins the names of what is done after a run
_ERROR_FOR_HANDLERS = 4_096  # characters
_AFTERWARDS: dict[type, tuple[str, str]] = {  # how the run ended, and which handler that asks for besides `exit`
    Succeeded: ("succeeded", "success"),
    Failed: ("failed", "failure"),
    Cancelled: ("cancelled", ""),
}
_NONE_DONE: Mapping[str, StepState] = MappingProxyType({})


async def execute(
    job: JobDefinition,
    context: RunContext,
    *,
    functions: Functions,
    pool: FunctionPool,
    tools: Services,
    done: Mapping[str, StepState] = _NONE_DONE,
) -> AttemptResult:
    """Do what the job says, but for the steps that succeeded before; if the run is over then, `conclude` it."""
    try:
        steps, act = _plan(job, functions, pool, tools)
        actions = _Actions(job, context, tools, act)
        ended = await _attempt(job, actions, Pipeline(steps, actions, tools, key=context.id, done=done))
    except InputError as error:
        ended = failed(str(error))
    except Exception as error:  # noqa: BLE001 (a store that fails, or a bug of ours, costs an attempt and no worker)
        ended = failed(f"the attempt could not be carried out\n{failure_text(error)}")
    if _is_over(job, context, ended):
        await conclude(job, context, ended, tools)
    return ended


async def conclude(job: JobDefinition, context: RunContext, ended: AttemptResult, tools: Services) -> None:
    """Do what is to be done after a run that is over (`on`). How that ends is reported, and changes nothing."""
    word, handler = _AFTERWARDS[type(ended.outcome)]
    steps = _handlers(job.on, handler, job.timeout)
    if not steps or not tools.allow_commands:
        return
    context = replace(context, outcome=word, error=clip(ended.error, _ERROR_FOR_HANDLERS))
    try:
        await Pipeline(steps, _Actions(job, context, tools, _by_action), tools, key=context.id).run()
    except Exception as error:  # noqa: BLE001 (the run has ended as it has)
        tools.log(steps[0].name, OWN, failure_text(error))


def _plan(
    job: JobDefinition, functions: Functions, pool: FunctionPool, tools: Services
) -> tuple[Sequence[Step], Act]:
    """The steps and how to do them; a job without steps is one without a name, which calls its function."""
    handlers = (job.on.success, job.on.failure, job.on.exit)
    if (job.steps or job.preconditions or any(handlers)) and not tools.allow_commands:
        raise InputError(
            f"this worker executes only what its own sources say, and {job.name} is from elsewhere: "
            "start it with the job's folder or app, or with --allow-commands"
        )
    if job.steps:
        return job.steps, _by_action
    if job.name not in functions:
        known = did_you_mean(nearest_word(job.name, list(functions)))
        raise InputError(f"this worker knows no function for the job {job.name}{known}")
    function = functions[job.name]
    return (Step("", PythonCall(job.name)),), lambda _step, here: pool.call(function, here)


async def _attempt(job: JobDefinition, actions: "_Actions", pipeline: Pipeline) -> AttemptResult:
    try:
        return await limited(_checked(job, actions, pipeline), job.timeout, actions.tools.sleep)
    except TimedOut:
        return timed_out(job.timeout, "the run", pipeline.cautions)


async def _checked(job: JobDefinition, actions: "_Actions", pipeline: Pipeline) -> AttemptResult:
    no = await _unmet(job.preconditions, actions) if job.preconditions else None
    return no or await pipeline.run()


async def _unmet(preconditions: Sequence[Precondition], actions: "_Actions") -> AttemptResult | None:
    log = StepLog(partial(actions.tools.log, PRECONDITIONS))
    try:
        return await unmet(preconditions, actions.surroundings(log), perform)
    finally:
        log.close()


class _Actions:
    """How the steps of one attempt are done."""

    def __init__(self, job: JobDefinition, context: RunContext, tools: Services, act: Act) -> None:
        self.tools = tools
        self._env = job.env
        self._context = replace(context, params=params_of(job, context.params))
        self._act = act

    async def check(self, step: Step, log: StepLog) -> AttemptResult | None:
        return await unmet(step.preconditions, self.surroundings(log, step), perform)

    async def act(self, step: Step, log: StepLog) -> AttemptResult:
        try:
            return await self._act(step, self.surroundings(log, step))
        except InputError as error:
            return failed(str(error))

    def surroundings(self, log: StepLog, step: Step | None = None) -> StepContext:
        if step is None:
            return StepContext(self._context, self.tools, log, self._env)
        env = {**self._env, **step.env}
        return StepContext(self._context, self.tools, log, env, step.dir, step.timeout)


async def perform(action: Action, here: StepContext) -> AttemptResult:
    """Do it once. Raises InputError if it cannot even begin."""
    match action:
        case Command():
            return await run_command(action, here)
        case Script():
            return await run_script(action, here)
        case PythonCall():
            return await call_in_process(named_target(action.target), here, strict=False)
        case HttpCall():
            return await send(action, here)


async def _by_action(step: Step, here: StepContext) -> AttemptResult:
    return await perform(step.action, here)


def _handlers(on: Handlers, own: str, timeout: int | None) -> list[Step]:
    """The handlers as steps: the one for this ending, then, whatever became of it, `exit`."""
    steps: list[Step] = []
    for name in filter(None, (own, "exit")):
        action = getattr(on, name)
        if action is not None:
            before = tuple(step.name for step in steps)
            always = (Tolerable.FAILED,)
            steps.append(Step(_HANDLER + name, action, before, timeout=timeout, continue_on=always))
    return steps


def _is_over(job: JobDefinition, context: RunContext, ended: AttemptResult) -> bool:
    """Whether the run has ended for good: it began, and is not tried again."""
    if type(ended.outcome) not in _AFTERWARDS:
        return False
    run = EndingRun(context.id, RunState.RUNNING, context.failures, retry=job.retry, at_most_once=job.at_most_once)
    return settle(run, ended.outcome, 0).state in FINAL
