"""The field `engine` of a job: an engine of the settings, with what that engine understands."""

from collections.abc import Mapping
from typing import Any

import pytest

from tickwise.app.definition_fields import fields_of
from tickwise.core.definition import EngineUse
from tickwise.core.errors import InputError
from tickwise.sources.defaults import Defaults
from tickwise.sources.spec import read_spec

KIND = "must be the name of an engine, or a mapping with name and the engine's options"


class GpuRules:
    """An engine that understands `gpus`, and work that does not ask the gate if it has any."""

    def check(self, options: Mapping[str, Any], *, at_most_once: bool) -> None:
        if unknown := options.keys() - {"gpus"}:
            raise InputError(f"{min(unknown)} is no option of this engine")
        if options and at_most_once:
            raise InputError("at_most_once needs work that asks before it begins")


DEFAULTS = Defaults(engines={"gpu": GpuRules()})


@pytest.mark.parametrize(
    ("written", "use"),
    [
        ("gpu", EngineUse("gpu")),
        ({"name": "gpu"}, EngineUse("gpu")),
        ({"name": "gpu", "gpus": 2}, EngineUse("gpu", {"gpus": 2})),
    ],
)
def test_an_engine(written: Any, use: EngineUse) -> None:
    """By its name, or as a mapping with its options; it is shown as it can be written again."""
    job = read_spec({"name": "a", "command": "true", "engine": written}, "", DEFAULTS)
    assert job.engine == use
    shown = fields_of(job)["engine"]
    assert read_spec({"name": "a", "command": "true", "engine": shown}, "", DEFAULTS).engine == use


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("gpus", "engine: the settings name no engine 'gpus' (did you mean gpu?)"),
        ("celery", "engine: the settings name no engine 'celery': add [engines.celery] to the settings"),
        ({"gpus": 2}, "engine: has no name: write {name: gpu, …}, with the name of an engine in the settings"),
        ({"name": 7}, "engine: has no name: write {name: gpu, …}, with the name of an engine in the settings"),
        ({"name": "gpu", "cpus": 2}, "engine: cpus is no option of this engine"),
        (
            {"name": "gpu", "a b": 2},
            "engine.a b: 'a b' cannot be the name of an option: use letters, digits and _",
        ),
        (7, f"engine: {KIND}, not the number 7"),
    ],
)
def test_mistakes(written: Any, problem: str) -> None:
    """An unknown engine, an option that it does not understand, a value of another kind."""
    with pytest.raises(InputError) as caught:
        read_spec({"name": "a", "command": "true", "engine": written}, "", DEFAULTS)
    assert str(caught.value) == problem


def test_at_most_once_needs_a_gate() -> None:
    """S53: where the work cannot ask, it may begin twice."""
    spec = {"name": "a", "command": "true", "engine": {"name": "gpu", "gpus": 1}, "at_most_once": True}
    with pytest.raises(InputError, match="engine: at_most_once needs work that asks before it begins"):
        read_spec(spec, "", DEFAULTS)
    assert read_spec({**spec, "engine": "gpu"}, "", DEFAULTS).at_most_once


def test_a_step_on_an_engine() -> None:
    """S74: a step has an engine and a queue of its own, which are shown as they can be written again."""
    train = {"name": "train", "command": ["true"], "queue": "night", "engine": {"name": "gpu", "gpus": 2}}
    job = read_spec({"name": "a", "steps": [train]}, "", DEFAULTS)
    assert (job.steps[0].queue, job.steps[0].engine) == ("night", EngineUse("gpu", {"gpus": 2}))
    assert fields_of(job)["steps"] == [train]


@pytest.mark.parametrize(
    ("job", "step", "problem"),
    [
        ({}, {"engine": "gpus"}, "steps.0.engine: the settings name no engine 'gpus' (did you mean gpu?)"),
        ({"engine": "gpu"}, {"queue": "b"}, "steps.0.queue: goes with no engine of the job"),
        ({"engine": "gpu"}, {"engine": "gpu"}, "steps.0.engine: goes with no engine of the job"),
        (
            {"at_most_once": True},
            {"engine": {"name": "gpu", "gpus": 1}},
            "steps.0.engine: at_most_once needs work",
        ),
    ],
)
def test_mistakes_in_steps(job: Any, step: Any, problem: str) -> None:
    """S74: the engine of a step is checked as that of a job, and a job on an engine waits for no step."""
    with pytest.raises(InputError) as caught:
        read_spec({"name": "a", "steps": [{"name": "train", "command": "true", **step}], **job}, "", DEFAULTS)
    assert problem in str(caught.value)
