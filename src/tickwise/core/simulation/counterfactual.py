"""What would have let a slot run: the smallest changes with which the planner, played again, gives it a run.

Candidates come from the fields of `Policy` and of `Circumstances`, whatever the reason was that the slot got no
run. A number is raised until it suffices, another word is tried for a word, and a rule is taken away. So a field
that is new is tried as well: as if it were not there. Each answer was planned again before it is given.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from ..catchup import DEFAULT_GRACE
from ..definition import After, Catchup, JobDefinition, Policy
from ..errors import InputError
from ..reasons import Verdict
from .past import BY_HAND, Circumstances, Past, circumstances_of
from .replay import Replay, SlotKey, replay

_YEAR = 366 * 86_400
# What lets more run when it is raised: from where, in seconds or in a number, and by how much at most.
RAISED: Mapping[str, tuple[int, int]] = {
    "grace": (DEFAULT_GRACE, _YEAR),
    "catchup_window": (0, _YEAR),
    "wait_for": (0, _YEAR),
    "until": (0, _YEAR),
    "max_catchup": (0, 100_000),
    "max_active_runs": (1, 1_000),
    "max_runs": (0, 100_000),
    "pause_after": (1, 1_000),
}
_DEPENDENT = ("catchup", "catchup_window", "overlap", "max_active_runs")  # of which some follow from others
_DURATIONS = ("grace", "catchup_window", "wait_for")
_DEFAULTS = Policy()
_ROUND = ((3 * 86_400, 86_400), (6 * 3_600, 3_600), (60, 60))  # above the one, whole multiples of the other
_RAISED_TOGETHER = (1 << 10, 1 << 15, 1 << 20)  # what is tried of a number in a pair
_MAX_PLAYS = 1_500
_HAPPENED = frozenset({Verdict.FIRED, Verdict.CAUGHT_UP})


class PolicyChange(NamedTuple):
    """Another value of a field of the policy."""

    field: str
    value: Any


class WithinChange(NamedTuple):
    """Another `within` of one dependency; none: without the dependency."""

    schedule: str
    within: int | None


class Lifted(NamedTuple):
    """A circumstance of the time that was not there: a field of `Circumstances`."""

    circumstance: str


Change: TypeAlias = PolicyChange | WithinChange | Lifted


class SufficientChange(NamedTuple):
    """Changes that would have let the slot run, and what else they change in the time that was looked at."""

    changes: tuple[Change, ...]
    policy: Policy  # with them
    least: int | None  # the smallest number that suffices, where `changes` has it rounded up
    run_at: int  # when the run would have been made
    others_gained: int  # other slots that would have run as well
    others_lost: int  # other slots that would have run no more


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What would have let a slot run; no remedies: nothing that was tried would have."""

    baseline: str | None  # the reason that the planner gives now for the slot; none: it gives it a run
    remedies: tuple[SufficientChange, ...] = ()  # the smallest first; of two changes, if none suffices alone
    complete: bool = True  # false: there was more to try than could be played


class _Exhausted(Exception):  # noqa: N818  (no error: the answer is what was found by then)
    """As many plays as there may be were made."""


def baseline_reason(past: Past, target: SlotKey) -> str | None:
    """The reason for which the planner gives a slot no run, as things were; none if it gives it one."""
    played = replay(past, past.job, circumstances_of(past), target)
    return None if _ran(played, target) is not None else _reason(past, played, target)


def counterfactual(past: Past, target: SlotKey) -> Counterfactual:
    """Search the smallest changes that let a slot run."""
    baseline = baseline_reason(past, target)
    if baseline is None:
        return Counterfactual(None)
    search = _Search(past, target)
    complete = True
    try:
        if not list(search.single()):
            list(search.pairs())
    except _Exhausted:
        complete = False
    return Counterfactual(baseline, tuple(search.remedies()), complete)


def with_changes(policy: Policy, changes: Sequence[Change]) -> Policy | None:
    """A policy with other values; what contradicts them follows them. None if it cannot be so."""
    own = {change.field: change.value for change in changes if isinstance(change, PolicyChange)}
    within = {change.schedule: change.within for change in changes if isinstance(change, WithinChange)}
    given = {
        field.name: value
        for field in fields(Policy)
        if (value := getattr(policy, field.name)) != getattr(_DEFAULTS, field.name)
    }
    given["after"] = tuple(
        After(one.schedule, width)
        for one in policy.after
        if (width := within.get(one.schedule, one.within)) is not None
    )
    free = {name: value for name, value in given.items() if name not in _DEPENDENT or name in own}
    for base in (given, free):
        try:
            return Policy.of(**{**base, **own})
        except InputError:
            continue
    return None


def _ran(played: Replay, target: SlotKey) -> int | None:
    """When the run of a slot was made, if it got one."""
    report = played.slots.get(target)
    return report.run.started_at if report and report.run else None


def _reason(past: Past, played: Replay, target: SlotKey) -> str:
    name, slot = target
    if report := played.slots.get(target):
        return report.reason.code
    told = (each.decision for each in past.decisions if each.decision.reason in BY_HAND)
    by_hand = (one.reason.code for one in told if one.schedule == name and one.first <= slot <= one.last)
    return next(by_hand, "no_slot")


class _Number(NamedTuple):
    """What can be raised: how it is changed, from where, and by how much at most."""

    change: Callable[[int], Change]
    base: int
    most: int


class _Option(NamedTuple):
    """A change to try with another one, and the number that it raises, if it does."""

    name: str
    change: Change
    number: _Number | None = None


class _Search:
    def __init__(self, past: Past, target: SlotKey) -> None:
        self._past, self._target = past, target
        self._circumstances = circumstances_of(past)
        self._own = next(one for one in past.job.schedules if one.name == target[0])
        self._policy = self._own.policy
        self._plays = 0
        self._found: list[tuple[tuple[Change, ...], int | None]] = []

    def remedies(self) -> Iterator[SufficientChange]:
        """What was found, with its effects, the smallest first."""
        before = replay(self._past, self._past.job, self._circumstances)
        told = sorted((self._remedy(changes, least, before) for changes, least in self._found), key=_size)
        seen = set[tuple[Policy, tuple[Change, ...]]]()
        for remedy in told:
            meant = (remedy.policy, tuple(one for one in remedy.changes if isinstance(one, Lifted)))
            if meant not in seen:
                seen.add(meant)
                yield remedy

    def _remedy(self, changes: tuple[Change, ...], least: int | None, before: Replay) -> SufficientChange:
        job, circumstances, policy = self._changed(changes)
        after = replay(self._past, job, circumstances)
        ran, runs = (
            {key for key, report in each.slots.items() if report.verdict in _HAPPENED} - {self._target}
            for each in (before, after)
        )
        run_at = _ran(after, self._target) or self._target[1]
        return SufficientChange(changes, policy, least, run_at, len(runs - ran), len(ran - runs))

    def single(self) -> Iterator[tuple[Change, ...]]:
        """Each change that suffices alone."""
        for change in self._words():
            if self._works((change,)):
                yield self._note((change,), None)
        for number in self._numbers():
            if found := self._sufficient(number, ()):
                change, least = found
                yield self._note((change,), least)

    def pairs(self) -> Iterator[tuple[Change, ...]]:
        """The first two changes that suffice together."""
        options = sorted(self._options(), key=lambda option: _size_of(option.change))
        for one, other in combinations(options, 2):
            if one.name != other.name and self._works((one.change, other.change)):
                first = self._lowered(one, (other.change,))
                yield self._note((first, self._lowered(other, (first,))), None)
                return

    def _options(self) -> Iterator[_Option]:
        for change in self._words():
            yield _Option(_name(change), change)
        for number in self._numbers():
            for step in _RAISED_TOGETHER:
                if step <= number.most:
                    change = number.change(number.base + step)
                    yield _Option(_name(change), change, number)

    def _lowered(self, option: _Option, others: tuple[Change, ...]) -> Change:
        """The option with the smallest number that suffices beside others."""
        found = option.number and self._sufficient(option.number, others)
        return found[0] if found else option.change

    def _note(self, changes: tuple[Change, ...], least: int | None) -> tuple[Change, ...]:
        self._found.append((changes, least))
        return changes

    def _words(self) -> Iterator[Change]:
        """Other words for words, rules taken away, and circumstances that were not there."""
        for field in fields(Policy):
            value, default = getattr(self._policy, field.name), getattr(_DEFAULTS, field.name)
            if isinstance(value, Enum):
                yield from (PolicyChange(field.name, other) for other in type(value) if other is not value)
            elif field.name == "after":
                yield from (WithinChange(one.schedule, None) for one in self._policy.after)
            elif value != default and (field.name not in RAISED or default is None):
                yield PolicyChange(field.name, default)
        for circumstance in fields(Circumstances):
            if _is_set(getattr(self._circumstances, circumstance.name)):
                yield Lifted(circumstance.name)

    def _numbers(self) -> Iterator[_Number]:
        for field, (least, most) in RAISED.items():
            value = getattr(self._policy, field)
            if field == "catchup_window" and self._policy.catchup is not Catchup.ALL:
                continue  # it is not in force
            if value is not None or field == "grace":
                yield _Number(partial(PolicyChange, field), max(value or 0, least), most)
        for needed in self._policy.after:
            yield _Number(partial(WithinChange, needed.schedule), needed.within, _YEAR)

    def _sufficient(self, number: _Number, others: tuple[Change, ...]) -> tuple[Change, int | None] | None:
        """The smallest raise that suffices beside others, rounded up as people write it if that suffices too."""
        least = self._least(number, others)
        if least is None:
            return None
        exact = number.change(least)
        rounded = number.change(_rounded(least)) if _is_duration(exact) else exact
        return (rounded, least) if rounded != exact and self._works((*others, rounded)) else (exact, None)

    def _least(self, number: _Number, others: tuple[Change, ...]) -> int | None:
        """By doubling what is added, then by halving."""
        step, failed = 1, 0
        while not self._works((*others, number.change(number.base + step))):
            failed, step = step, step * 2
            if step > number.most:
                return None
        while step - failed > 1:
            middle = (step + failed) // 2
            if self._works((*others, number.change(number.base + middle))):
                step = middle
            else:
                failed = middle
        return number.base + step

    def _works(self, changes: tuple[Change, ...]) -> bool:
        job, circumstances, policy = self._changed(changes)
        if policy == self._policy and circumstances == self._circumstances:
            return False
        self._plays += 1
        if self._plays > _MAX_PLAYS:
            raise _Exhausted
        return _ran(replay(self._past, job, circumstances, self._target), self._target) is not None

    def _changed(self, changes: tuple[Change, ...]) -> tuple[JobDefinition, Circumstances, Policy]:
        nothing = Circumstances()
        lifted = {
            one.circumstance: getattr(nothing, one.circumstance) for one in changes if isinstance(one, Lifted)
        }
        policy = with_changes(self._policy, changes) or self._policy
        schedules = tuple(
            replace(one, policy=policy) if one.name == self._own.name else one for one in self._past.job.schedules
        )
        circumstances = replace(self._circumstances, **lifted)
        return replace(self._past.job, schedules=schedules), circumstances, policy


def _is_set(circumstance: Any) -> bool:
    return any(circumstance.values()) if isinstance(circumstance, Mapping) else bool(circumstance)


def _name(change: Change) -> str:
    return f"within.{change.schedule}" if isinstance(change, WithinChange) else change[0]


def _is_duration(change: Change) -> bool:
    return isinstance(change, WithinChange) or change[0] in _DURATIONS


def _rounded(seconds: int) -> int:
    unit = next((unit for above, unit in _ROUND if seconds > above), 1)
    return -(-seconds // unit) * unit


def _size(remedy: SufficientChange) -> tuple[int, int]:
    """A number that is raised is small, another word is more, a rule taken away more, the past itself most."""
    return max(map(_size_of, remedy.changes)), remedy.others_gained + remedy.others_lost


def _size_of(change: Change) -> int:
    if isinstance(change, Lifted):
        return 3
    value = change.within if isinstance(change, WithinChange) else change.value
    if isinstance(value, Enum):
        return 1
    return 0 if type(value) is int else 2
