"""What runs require of workers, and what workers offer (S46, S47)."""

from dataclasses import replace

import pytest

from tickwise.core.definition import Command, EngineUse, Handlers, JobDefinition, Precondition, Step
from tickwise.core.requirements import (
    ALL,
    EVERYTHING,
    NOTHING,
    LiveWorkers,
    MissingWorker,
    Offers,
    command_digest,
    has_commands,
    requirements_of,
)

RUN = Command(("true",))
PIPELINE = JobDefinition("etl", (Step("only", RUN),))
FUNCTION = JobDefinition("load")
CHECKED = JobDefinition("load", preconditions=(Precondition(RUN),))
HANDLED = JobDefinition("load", on=Handlers(exit=RUN))
DIGEST = command_digest(PIPELINE)


def test_what_a_job_requires() -> None:
    """A function is required by its name, commands by the words of the definition, or both (S46)."""
    assert requirements_of(FUNCTION) == "function:load"
    assert requirements_of(PIPELINE) == f"commands:{DIGEST}"
    assert requirements_of(CHECKED) == f"function:load commands:{command_digest(CHECKED)}"
    assert requirements_of(HANDLED) == f"function:load commands:{command_digest(HANDLED)}"
    assert [has_commands(job) for job in (FUNCTION, PIPELINE, CHECKED, HANDLED)] == [False, True, True, True]


def test_the_same_words_have_the_same_digest() -> None:
    """Neither the name nor the times of a job are words of its commands; everything else is (S46)."""
    assert command_digest(JobDefinition("other", PIPELINE.steps)) == DIGEST
    assert command_digest(JobDefinition("etl", PIPELINE.steps, env={"A": "b"})) != DIGEST


@pytest.mark.parametrize(
    ("offers", "allowed"),
    [
        (NOTHING, ()),
        (Offers.of(["load"]), (FUNCTION,)),
        (Offers.of(commands=[DIGEST]), (PIPELINE,)),
        (Offers.of(commands=[ALL]), (PIPELINE,)),
        (Offers.of(["load"], [command_digest(CHECKED)]), (FUNCTION, CHECKED)),
        (Offers.of(["load"], [ALL]), (FUNCTION, PIPELINE, CHECKED, HANDLED)),
        (EVERYTHING, (FUNCTION, PIPELINE, CHECKED, HANDLED)),
    ],
)
def test_a_worker_may_execute_what_it_offers_in_full(offers: Offers, allowed: tuple[JobDefinition, ...]) -> None:
    """Every word of what a job requires is offered, by itself or as one of its kind (S46)."""
    jobs = (FUNCTION, PIPELINE, CHECKED, HANDLED)
    assert tuple(job for job in jobs if offers.allow(requirements_of(job))) == allowed
    assert offers.allow_commands_of(PIPELINE) == (PIPELINE in allowed)


def test_offers_are_values() -> None:
    """Equal offers have one text and one digest, and come back from the text."""
    one, same, other = Offers.of("ab", [ALL]), Offers.of("ba", [ALL]), Offers.of("a")
    assert (one, hash(one), one.digest) == (same, hash(same), same.digest)
    assert (one.text, repr(other)) == ("commands:* function:a function:b", "Offers('function:a')")
    assert Offers.from_text(one.text) == one
    assert one != other
    assert one.digest != other.digest
    assert one != one.text


def test_a_job_for_an_engine_needs_a_watcher() -> None:
    """Neither takes what is for the other: a worker has no engine, and a watcher executes nothing (S46)."""
    function, commands = JobDefinition("a", engine=EngineUse("gpu")), replace(PIPELINE, engine=EngineUse("gpu"))
    assert requirements_of(function) == "engine:gpu"
    assert requirements_of(commands) == f"engine:gpu handed:{command_digest(commands)}"
    watcher, worker = Offers.of_watcher(["gpu"], [ALL]), Offers.of([ALL], [ALL])
    for job in (function, commands):
        assert watcher.allow(requirements_of(job))
        assert not worker.allow(requirements_of(job))
        assert not watcher.allow(requirements_of(replace(job, engine=None)))
        assert (worker | watcher).allow(requirements_of(job))


def test_which_worker_is_missing() -> None:
    """A queue without a worker, a word that none of its workers offers, or one worker with all of them (S47)."""
    half = [(["default"], Offers.of(["load"])), (["default", "mail"], Offers.of(commands=[ALL]))]
    workers = LiveWorkers(half)
    both = requirements_of(CHECKED)
    assert workers.missing("default", "function:load") is None
    assert workers.missing("default", "function:load") is None  # as found before
    assert workers.missing("gpu", "function:load") == MissingWorker("gpu")
    assert workers.missing("mail", both) == MissingWorker("mail", "function:load")
    assert workers.missing("default", both) == MissingWorker("default", both.split()[1])
    assert workers.missing("default", "engine:celery") == MissingWorker("default", "engine:celery")


@pytest.mark.parametrize(
    ("requirement", "kind", "text"),
    [
        ("", "", "serves the queue q"),
        ("function:f", "function", "of the queue q knows the function f"),
        ("commands:9f", "commands", "of the queue q may execute its commands"),
        ("engine:gpu", "engine", "of the queue q has the engine gpu"),
        ("handed:9f", "handed", "of the queue q may hand its commands over"),
        ("lib:x", "lib", "of the queue q offers lib:x"),
    ],
)
def test_what_no_live_worker_does(requirement: str, kind: str, text: str) -> None:
    """The kind of worker that is missing is said in words (S47)."""
    missing = MissingWorker("q", requirement)
    assert (missing.kind, missing.text) == (kind, text)
