"""The jobs that steps with a queue or an engine of their own become (S74)."""

from dataclasses import replace

from tickwise.core.codec import decode_job, encode_job
from tickwise.core.definition import (
    Approval,
    Command,
    EngineUse,
    ForEach,
    Handlers,
    JobCall,
    JobDefinition,
    Outcome,
    Precondition,
    RetryPolicy,
    Step,
    jobs_called,
    may_wait,
)
from tickwise.core.events import EVENTS_PARAM, STEP_PARAM, own_params
from tickwise.core.requirements import command_digest, requirements_of
from tickwise.core.step_jobs import inherited_facts, queues_of, source_of_steps, step_job, step_jobs

TRUE = Command(("true",))
HERE = Step("here", TRUE)
TRAIN = Step(
    "train", TRUE, ("here",), env={"A": "1"}, dir="/srv", timeout=9, retry=RetryPolicy(2),
    continue_on=(Outcome.FAILED,), preconditions=(Precondition(TRUE),), foreach=ForEach((1, 2)), queue="gpu",
)  # fmt: skip
SHIP = Step("ship", TRUE, ("train",), engine=EngineUse("k8s", {"image": "x"}))
JOB = JobDefinition(
    "report", (HERE, TRAIN, SHIP), queue="day", params={"n": 1}, env={"B": "2"}, dir="/etc", timeout=60,
    retry=RetryPolicy(5), preconditions=(Precondition(TRUE),), on=Handlers(exit=TRUE),
    priority=3, at_most_once=True,
)  # fmt: skip


def test_what_a_step_becomes() -> None:
    """S74: the action with what the job gives to each step; the rest is left to the run that waits for it."""
    train, ship = step_jobs(JOB)
    assert (train.name, train.queue, train.engine, train.timeout) == ("report.train", "gpu", None, 9)
    assert (train.retry, train.preconditions, train.on) == (RetryPolicy(), (), Handlers())
    assert train.steps == (Step("train", TRUE, env={"A": "1"}, dir="/srv", preconditions=(Precondition(TRUE),)),)
    assert (train.params, train.env, train.dir) == (JOB.params, JOB.env, JOB.dir)
    assert (train.priority, train.at_most_once) == (3, True)
    assert (ship.name, ship.queue, ship.engine) == ("report.ship", "day", EngineUse("k8s", {"image": "x"}))
    assert requirements_of(ship) == f"engine:k8s handed:{command_digest(ship)}"
    assert queues_of(JOB) == {"day", "gpu"}
    assert step_job(JOB, replace(TRAIN, name="train[1]", foreach=None)) == train


def test_its_words_follow_from_those_of_the_whole() -> None:
    """S46: jobs in the same words have steps in the same words, whatever they are called; and they are kept."""
    twin = replace(JOB, name="twin")
    assert command_digest(twin) == command_digest(JOB)
    assert [*map(encode_job, step_jobs(twin))] == [*map(encode_job, step_jobs(JOB))]
    assert decode_job(encode_job(JOB), "report") == JOB


def test_which_jobs_it_has_as_steps() -> None:
    """S74: those that are named, and those that its steps become; then it waits."""
    called = JobDefinition("a", (Step("b", JobCall("c")), TRAIN))
    assert jobs_called(called) == ("c", "a.train")
    waits = [may_wait(JobDefinition("a", (step,))) for step in (HERE, TRAIN, SHIP, Step("b", Approval()))]
    assert waits == [False, True, True, True]


def test_what_comes_with_the_params() -> None:
    """S74: what a step knows of the run that waits for it is no param."""
    params = {"n": 1, EVENTS_PARAM: [], STEP_PARAM: {"item": 3}}
    assert own_params(params) == {"n": 1}
    assert inherited_facts(params) == {"item": 3}
    assert inherited_facts({STEP_PARAM: 3}) == inherited_facts({}) == {}
    assert source_of_steps("report") == "steps of report"
