"""What a step waits for, as it is kept (S74)."""

import pytest

from tickwise.core.definition import (
    Approval,
    ApprovalAnswer,
    JobCall,
    JobDefinition,
    PythonCall,
    RetryPolicy,
    Step,
    jobs_called,
    may_wait,
)
from tickwise.core.model import Trigger
from tickwise.core.references import fill_value, texts_in
from tickwise.core.settle import EndingRun, Failed, Waits, settle
from tickwise.core.states import Event, RunState
from tickwise.core.step_waits import ChildKey, StepAnswer, StepWait, answer_key, approver, is_answer

WAIT = StepWait(2, 1_000, "load", "step:7:2.1.a", "9")


def test_a_wait_is_read_as_it_was_written() -> None:
    """What is kept of a wait comes back; anything else is no wait."""
    assert StepWait.of(WAIT.text) == WAIT
    asked = StepWait(2, 1_000, key=answer_key("ok", 2, 1), role="admin", until=2_000)
    assert (StepWait.of(asked.text), "job" in asked.text) == (asked, False)
    bad = ["", "[]", "{", "{}", '{"attempt": "2", "since": 1}', '{"attempt": 2, "since": 1, "more": 3}']
    assert [StepWait.of(text) for text in bad] == [None] * len(bad)


@pytest.mark.parametrize(
    ("waited", "until", "look"),
    [(0, None, 1), (3, None, 1), (40, None, 10), (10_000, None, 60), (40, 1_042, 2), (40, 1_000, 1)],
)
def test_the_next_look(waited: int, until: int | None, look: int) -> None:
    """S15, S74: after a quarter of the time that was waited, at most a minute, and not past a timeout."""
    assert WAIT.next_look(1_000 + waited, until) == look


def test_the_key_of_a_child() -> None:
    """S74: the key names the parent and the step, and other keys name none."""
    key = ChildKey("7", "2.1.load[3]")
    assert ChildKey.of(key.text) == key
    assert [ChildKey.of(text) for text in (None, "", "step:x:1.1.a", "order-7")] == [None] * 4


@pytest.mark.parametrize(("cancelling", "event"), [(False, Event.WAIT), (True, Event.CANCEL)])
def test_the_end_of_an_attempt_that_waits(*, cancelling: bool, event: Event) -> None:
    """S74: the run is queued without a failure, and may wait with at_most_once; not if it was asked to end."""
    run = EndingRun("7", RunState.RUNNING, 1, 1, at_most_once=True, cancelling=cancelling)
    settled = settle(run, Waits(60), 1_000)
    assert (settled.event, settled.failures, settled.losses) == (event, 1, 1)
    assert settled.not_before == (None if cancelling else 1_060)


def test_answers_in_words() -> None:
    """S75: what was answered, by whom and why, as far as that is known; and who is to answer."""
    answers = [
        StepAnswer(ApprovalAnswer.APPROVE, 1, "ann", "fine"), StepAnswer(ApprovalAnswer.APPROVE, 1, "ann"),
        StepAnswer(ApprovalAnswer.REJECT, 1, reason="nobody answered within 1h"),
    ]  # fmt: skip
    assert [str(answer) for answer in answers] == [
        "approved by ann: fine", "approved by ann", "rejected: nobody answered within 1h",
    ]  # fmt: skip
    assert [approver(role) for role in ("operator", "team")] == [
        "an approval by an operator",
        "an approval by a team",
    ]
    assert [is_answer(name) for name in (answer_key("a", 1, 1), "a", "a[1]")] == [True, False, False]


def test_a_rejection_is_not_tried_again() -> None:
    """S75: a person has decided, so the retries of the run are not used."""
    retries = RetryPolicy(limit=3)
    for by_person, event in ((True, Event.FAILURE), (False, Event.RETRY)):
        settled = settle(EndingRun("7", RunState.RUNNING, retry=retries), Failed(by_person=by_person), 1_000)
        assert (settled.event, settled.failures) == (event, 1)


def test_jobs_with_children() -> None:
    """The jobs of which a job has runs as steps."""
    job = JobDefinition("a", (Step("x", PythonCall("m:f")), Step("y", JobCall("b")), Step("z", JobCall("c"))))
    assert (jobs_called(job), may_wait(job), may_wait(JobDefinition("b"))) == (("b", "c"), True, False)
    assert may_wait(JobDefinition("a", (Step("ok", Approval()),)))
    assert [trigger for trigger in Trigger if trigger.takes_lane] == [Trigger.MANUAL, Trigger.STEP]


def test_params_of_a_child() -> None:
    """S74: a text that is one reference becomes the value, in others the value becomes text."""
    values = {"item": {"id": 3}, "params.shop": "eu", "steps.a.outputs.rows": [1, 2]}
    given = {
        "rows": "${steps.a.outputs.rows}", "text": "shop ${params.shop}, ${item}", "list": ["${item}", 4],
        "n": None,
    }  # fmt: skip
    filled = fill_value(given, values, str)
    assert filled == {"rows": [1, 2], "text": "shop eu, {'id': 3}", "list": [{"id": 3}, 4], "n": None}
    assert list(texts_in(given)) == ["${steps.a.outputs.rows}", "shop ${params.shop}, ${item}", "${item}"]
