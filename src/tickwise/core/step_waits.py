"""What a step waits for that others do, as it is kept with the step (S74, S75).

A child is found by its key, which is kept before the child is enqueued. A worker that dies between the two leaves
the key, and the one that goes on with the step enqueues by it: the store gives the run that has it (S48).

An answer is found by its key, too: it is kept beside the steps of the run under that name, the first that comes.
"""

import re
from typing import NamedTuple

from .definition import ApprovalAnswer
from .payload import UnreadableText, decode, to_json

MAX_DEPTH = 10  # of children: a run, its child, the child of that, and so on
APPROVAL = "an approval"  # in the words that say what a run waits for
_ANSWER = "answer:"
_KEY = re.compile(r"step:(\d{1,19}):(.+)", re.ASCII)
_FIRST_LOOK, _LAST_LOOK = 1, 60  # seconds between two looks, of a wait that has just begun, and at most (S15)


class StepWait(NamedTuple):
    """What a step waits for."""

    attempt: int  # of the run: if it is the one that goes on, no step that has ended is repeated
    since: int  # second
    job: str = ""  # of the child
    key: str = ""  # of the child, or of the answer
    run: str = ""  # the child, once it is known
    role: str = ""  # of whoever may answer; empty: it waits for a child
    until: int = 0  # the second from which nobody's answer is waited for; 0: none

    @classmethod
    def of(cls, text: str) -> "StepWait | None":
        """What a text says; none if it is empty, or says nothing that is understood."""
        try:
            wait = cls(**decode(text)) if text else None
        except (UnreadableText, TypeError):
            return None
        kinds = cls.__annotations__
        return wait if wait and all(type(value) is kinds[name] for name, value in wait._asdict().items()) else None

    @property
    def text(self) -> str:
        return to_json({name: value for name, value in self._asdict().items() if value})

    def next_look(self, now: int, until: int | None = None) -> int:
        """Seconds until the next look, if nothing wakes the run: a quarter of the time that it has waited."""
        wait = min(max((now - self.since) // 4, _FIRST_LOOK), _LAST_LOOK)
        return wait if until is None else min(wait, max(until - now, _FIRST_LOOK))


class StepAnswer(NamedTuple):
    """What was answered to a step that waits for it; `by` is empty if nobody has answered in time."""

    answer: ApprovalAnswer
    at: int  # microseconds
    by: str = ""
    reason: str = ""

    @property
    def is_yes(self) -> bool:
        return self.answer is ApprovalAnswer.APPROVE

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        said = f": {self.reason}" if self.reason else ""
        return f"{'approved' if self.is_yes else 'rejected'}{by}{said}"


def answer_key(step: str, attempt: int, number: int) -> str:
    """The name under which the answer to a try of a step is kept; no step can be named so."""
    return f"{_ANSWER}{attempt}.{number}:{step}"


def is_answer(name: str) -> bool:
    """Whether this is the name of an answer, and not of a step."""
    return name.startswith(_ANSWER)


def approver(role: str) -> str:
    """Whose approval is waited for, in words."""
    return f"{APPROVAL} by {'an' if role[:1] in 'aeiou' else 'a'} {role}"


class ChildKey(NamedTuple):
    """The key of a child: whose it is."""

    parent: str
    step: str  # its name, with the attempt and the try

    @classmethod
    def of(cls, key: str | None) -> "ChildKey | None":
        """The parts of a key; none if it is no child's."""
        match = _KEY.fullmatch(key or "")
        return cls(match[1], match[2]) if match else None

    @property
    def text(self) -> str:
        return f"step:{self.parent}:{self.step}"
