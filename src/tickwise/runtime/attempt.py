"""One attempt of one run, from its definition to its result.

`execute` never raises, with one exception: if its task is cancelled, it ends everything that it started and raises
CancelledError. Only the caller knows why it cancelled: a person asked for it (then it calls `conclude`, which
executes the handlers of a cancelled run), the worker shuts down, or the lease was lost.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from ..core.definition import (
    Action,
    Approval,
    Command,
    Handlers,
    HttpCall,
    JobCall,
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
from ..core.step_outputs import VARIABLE
from .approval_step import follow_approval
from .child_step import follow_child
from .context import RunContext
from .executors.arguments import params_of
from .executors.command import run_command, run_script
from .executors.failure import failure_text
from .executors.function import FunctionPool
from .executors.log import OWN, StepLog
from .executors.output_reader import OutputReader
from .executors.preconditions import unmet
from .executors.process import call_in_process, named_target
from .executors.result import AttemptResult, failed
from .executors.timeout import TimedOut, limited
from .pipeline import DoneSteps, Pipeline
from .step_context import Services, StepContext
from .step_tries import NO_INPUTS, NOTHING_EARLIER, Earlier, StepInputs, timed_out

Functions: TypeAlias = Mapping[str, Callable[..., Any]]
ExecuteStep: TypeAlias = Callable[[Step, StepContext], Awaitable[AttemptResult]]
PRECONDITIONS = "job:preconditions"  # their name in the log; no step can have it
_HANDLER = "on:"  # prefix of the names of handlers, as steps
_MAX_HANDLER_ERROR = 4_096  # characters
_HANDLERS: dict[type, tuple[str, str]] = {  # how the run ended, and its handler besides `exit`
    Succeeded: ("succeeded", "success"),
    Failed: ("failed", "failure"),
    Cancelled: ("cancelled", ""),
}
_NONE_DONE: DoneSteps = MappingProxyType({})


async def execute(
    job: JobDefinition,
    run: RunContext,
    *,
    functions: Functions,
    pool: FunctionPool,
    services: Services,
    done: DoneSteps = _NONE_DONE,
    earlier: Earlier = NOTHING_EARLIER,
) -> AttemptResult:
    """Execute the job's steps, except those already `done`; if the run is over then, `conclude` it."""
    try:
        steps, execute_step = _plan(job, functions, pool, services)
        actions = _Actions(job, run, services, execute_step)
        pipeline = Pipeline(
            steps, actions, services, key=run.id, done=done, earlier=earlier, params=actions.params
        )
        ended = await _attempt(job, actions, pipeline, goes_on=earlier.goes_on)
    except InputError as error:
        ended = failed(str(error))
    except Exception as error:  # noqa: BLE001 (a store that fails, or a bug of ours, costs an attempt and no worker)
        ended = failed(f"the attempt could not be carried out\n{failure_text(error)}")
    ended = ended.kept(services.redactor)
    if _is_over(job, run, ended):
        await conclude(job, run, ended, services)
    return ended


async def conclude(job: JobDefinition, run: RunContext, ended: AttemptResult, services: Services) -> None:
    """Execute the handlers (`on`) of a run that is over. Their result is reported, and changes nothing."""
    outcome, handler = _HANDLERS[type(ended.outcome)]
    steps = _handler_steps(job.on, handler, job.timeout)
    if not steps or not services.allow_commands:
        return
    run = replace(run, outcome=outcome, error=clip(ended.error, _MAX_HANDLER_ERROR))
    try:
        await Pipeline(steps, _Actions(job, run, services, _execute_action), services, key=run.id).run()
    except Exception as error:  # noqa: BLE001 (the run has already ended)
        services.log(steps[0].name, OWN, services.redactor.text(failure_text(error)))


def _plan(
    job: JobDefinition, functions: Functions, pool: FunctionPool, services: Services
) -> tuple[Sequence[Step], ExecuteStep]:
    """The steps and how to execute them. A job without steps is one nameless step that calls its function."""
    handlers = (job.on.success, job.on.failure, job.on.exit)
    if (job.steps or job.preconditions or any(handlers)) and not services.allow_commands:
        raise InputError(
            f"this worker executes only what its own sources say, and {job.name} is from elsewhere: "
            "start it with the job's folder or app, or with --allow-commands"
        )
    if job.steps:
        return job.steps, _execute_action
    if job.name not in functions:
        known = did_you_mean(nearest_word(job.name, list(functions)))
        raise InputError(f"this worker knows no function for the job {job.name}{known}")
    function = functions[job.name]
    return (Step("", PythonCall(job.name)),), lambda _step, context: pool.call(function, context)


async def _attempt(job: JobDefinition, actions: "_Actions", pipeline: Pipeline, *, goes_on: bool) -> AttemptResult:
    """Check the job's preconditions, unless it has begun, and run its steps, within its timeout."""
    work = pipeline.run() if goes_on else _check_and_run(job, actions, pipeline)
    try:
        return await limited(work, job.timeout, actions.services.sleep)
    except TimedOut:
        return timed_out(job.timeout, "the run", pipeline.warnings)


async def _check_and_run(job: JobDefinition, actions: "_Actions", pipeline: Pipeline) -> AttemptResult:
    refusal = await _check_job(job.preconditions, actions) if job.preconditions else None
    return refusal or await pipeline.run()


async def _check_job(preconditions: Sequence[Precondition], actions: "_Actions") -> AttemptResult | None:
    log = StepLog(partial(actions.services.log, PRECONDITIONS), actions.services.redactor)
    try:
        return await unmet(preconditions, actions.context(log), perform)
    finally:
        log.close()


class _Actions:
    """How the steps of one attempt are checked and executed."""

    def __init__(self, job: JobDefinition, run: RunContext, services: Services, execute_step: ExecuteStep) -> None:
        self.services = services
        self._env = job.env
        self._folder = job.dir
        self.params = params_of(job, run.params)
        self._run = replace(run, params=self.params)
        self._execute_step = execute_step

    async def check(self, step: Step, log: StepLog, inputs: StepInputs) -> AttemptResult | None:
        return await unmet(step.preconditions, self.context(log, step, inputs), perform)

    async def act(self, step: Step, log: StepLog, inputs: StepInputs) -> AttemptResult:
        try:
            return await self._execute_step(step, self.context(log, step, inputs))
        except InputError as error:
            return failed(str(error))

    def context(self, log: StepLog, step: Step | None = None, inputs: StepInputs = NO_INPUTS) -> StepContext:
        if step is None:
            return StepContext(self._run, self.services, log, self._env, self._folder)
        return StepContext(
            run=replace(self._run, outputs=inputs.outputs, item=inputs.item),
            services=self.services,
            log=log,
            env={**self._env, **step.env},
            folder=step.dir or self._folder,
            timeout=step.timeout,
            waiting=inputs.waiting,
        )


async def perform(action: Action, context: StepContext) -> AttemptResult:
    """Execute an action once. Raises InputError if it cannot be started."""
    match action:
        case JobCall():
            return await follow_child(action, context)
        case Approval():
            return await follow_approval(action, context)
        case Command():
            return await run_command(action, context)
        case Script():
            return await run_script(action, context)
        case PythonCall():
            return await call_in_process(named_target(action.target), context, strict=False)
        case HttpCall():
            from .executors.http import send  # noqa: PLC0415  (it loads httpx2: only for those who send)

            return await send(action, context)


async def _execute_action(step: Step, context: StepContext) -> AttemptResult:
    """Execute the action of a step. The result of a program is what it hands on (S72)."""
    if isinstance(step.action, PythonCall | JobCall | Approval):
        return await perform(step.action, context)
    with OutputReader(context.log) as reader:
        run = replace(context.run, env={**context.run.env, VARIABLE: str(reader.path)})
        ended = await perform(step.action, replace(context, run=run, log=reader))
        return replace(ended, result=reader.outputs() or None) if ended.succeeded else ended


def _handler_steps(on: Handlers, own: str, timeout: int | None) -> list[Step]:
    """The handlers as steps: first the one for this outcome, then, even if that fails, `exit`."""
    steps: list[Step] = []
    for name in filter(None, (own, "exit")):
        action = getattr(on, name)
        if action is not None:
            before = tuple(step.name for step in steps)
            always = (Tolerable.FAILED,)
            steps.append(Step(_HANDLER + name, action, before, timeout=timeout, continue_on=always))
    return steps


def _is_over(job: JobDefinition, run: RunContext, ended: AttemptResult) -> bool:
    """Whether the run has ended for good: it began, and is not tried again."""
    if type(ended.outcome) not in _HANDLERS:
        return False
    ending = EndingRun(run.id, RunState.RUNNING, run.failures, retry=job.retry, at_most_once=job.at_most_once)
    return settle(ending, ended.outcome, 0).state in FINAL
