"""Why: every verdict on a slot, and every reason there can be for one. The codes are stable; people see them.

A reason's value is its code; `text` says what happened (with the decision's detail filled in), `advice` what a
person can do about it.
"""

from enum import Enum, StrEnum


class Verdict(StrEnum):
    """How a slot ended, that it has not yet, or what else there is to say about it."""

    FIRED = "fired"  # a run, on time
    CAUGHT_UP = "caught_up"  # a run, for a missed slot
    SKIPPED = "skipped"  # no run, by a rule
    COALESCED = "coalesced"  # no run of its own: a newer slot's run stands for it
    SUPERSEDED = "superseded"  # no run: a newer slot took its place while it waited
    EXPIRED = "expired"  # no run: too old, or too many
    DEFERRED = "deferred"  # not decided yet: it waits
    NOTED = "noted"  # something about it is recorded; how it ends is decided elsewhere

    @property
    def is_final(self) -> bool:
        """Whether it says how a slot ended."""
        return self not in _NOT_FINAL


_NOT_FINAL = frozenset({Verdict.DEFERRED, Verdict.NOTED})


class Reason(Enum):
    """One line each: code, verdict, what happened, what to do."""

    code: str
    verdict: Verdict
    text: str
    advice: str

    def __init__(self, code: str, verdict: Verdict, text: str, advice: str) -> None:
        self.code = code
        self.verdict = verdict
        self.text = text
        self.advice = advice

    # fmt: off
    ON_TIME = (
        "on_time", Verdict.FIRED,
        "it was due and nothing stood in its way",
        "Nothing to do.",
    )
    CATCH_UP = (
        "catch_up", Verdict.CAUGHT_UP,
        "it was missed, and catch-up ran it",
        "Set catchup: skip if a missed slot should not run late.",
    )
    BACKFILL = (
        "backfill", Verdict.CAUGHT_UP,
        "a backfill asked for it",
        "Cancel the backfill if the rest is not wanted.",
    )
    STOPPED = (
        "stopped", Verdict.FIRED,
        "the stop schedule asked {detail} to cancel",
        "Nothing to do.",
    )
    NOTHING_TO_STOP = (
        "nothing_to_stop", Verdict.SKIPPED,
        "the stop schedule found no active run",
        "Nothing to do; move the stop time if something should have been running.",
    )
    MISSED = (
        "missed", Verdict.SKIPPED,
        "nothing looked at it until its grace had passed, and missed slots are not caught up",
        "Set catchup: once or all to run missed slots, or a longer grace if a late start is fine.",
    )
    STOPPED_SINCE = (
        "stopped_since", Verdict.SKIPPED,
        "nothing looked at it until its grace had passed, and the job's stop of {detail} has passed since",
        "Trigger the job if it should run now; its next start comes by itself.",
    )
    COALESCED = (
        "coalesced", Verdict.COALESCED,
        "several slots were pending after an interruption; the run for {detail} stands for all of them",
        "Set catchup: all if each slot must run.",
    )
    TOO_OLD = (
        "too_old", Verdict.EXPIRED,
        "it was missed longer ago than the catch-up window of {detail}",
        "Widen catchup_window, or backfill the range by hand.",
    )
    TOO_MANY = (
        "too_many", Verdict.EXPIRED,
        "more slots were pending than max_catchup ({detail}) allows; the oldest were dropped",
        "Raise max_catchup, or backfill the range by hand.",
    )
    PAST_ONE_OFF = (
        "past_one_off", Verdict.EXPIRED,
        "a one-off whose time had already passed when it was first seen",
        "Give it a time in the future, or trigger the job now.",
    )
    OVERLAP = (
        "overlap", Verdict.SKIPPED,
        "the job was still active: run {detail} was in the way",
        "Set overlap: queue to wait, allow to run side by side, or replace; or make the job faster.",
    )
    LANES_FULL = (
        "lanes_full", Verdict.SKIPPED,
        "as many runs as max_active_runs allows ({detail}) were active",
        "Raise max_active_runs, or set catchup: all to wait for a free lane.",
    )
    SUPERSEDED = (
        "superseded", Verdict.SUPERSEDED,
        "the newer slot {detail} took its place while it waited",
        "Set overlap: queue if each slot must run.",
    )
    ALREADY_DONE = (
        "already_done", Verdict.SKIPPED,
        "it was done already: {detail}",
        "Nothing to do.",
    )
    ALREADY_SUCCESSFUL = (
        "already_successful", Verdict.SKIPPED,
        "skip_if_successful: the job has succeeded since the slot before ({detail})",
        "Remove skip_if_successful if every slot must run.",
    )
    DEPENDENCY_MISSING = (
        "dependency_missing", Verdict.SKIPPED,
        "there was no success of {detail} in time",
        "See why that schedule did not succeed, or widen within or wait_for.",
    )
    PAUSED = (
        "paused", Verdict.SKIPPED,
        "the schedule was paused ({detail})",
        "Resume asking for the slots of the pause, or backfill them.",
    )
    BLACKOUT = (
        "blackout", Verdict.SKIPPED,
        "it falls into the blackout {detail}",
        "Backfill it if it must run; with catchup: all, slots of a blackout run when that has ended.",
    )
    SKIPPED_BY_HAND = (
        "skipped_by_hand", Verdict.SKIPPED,
        "a person marked it to be skipped ({detail})",
        "Trigger the job if it should run after all, or backfill the slot.",
    )
    RESCHEDULED = (
        "rescheduled", Verdict.SKIPPED,
        "the next run was moved to {detail} by hand",
        "Nothing to do; trigger the job to run it now.",
    )
    FINISHED = (
        "finished", Verdict.SKIPPED,
        "the schedule had made its {detail} runs (max_runs)",
        "Raise or remove max_runs to go on.",
    )
    BUDGET = (
        "budget", Verdict.SKIPPED,
        "the schedule had used up its budget of starts: {detail}",
        "Raise max_starts, or set catchup: all to let slots wait for room.",
    )
    CATCHUP_GOES_FIRST = (
        "catchup_goes_first", Verdict.SKIPPED,
        "catch-up of the job was under way, so its stop and restart were held back",
        "Nothing to do; trigger or cancel by hand if it matters.",
    )
    CATCHUP_OFF = (
        "catchup_off", Verdict.SKIPPED,
        "catch-up was turned off while it was pending",
        "Backfill the range if it must run after all.",
    )
    NO_EVENTS = (
        "no_events", Verdict.SKIPPED,
        "the schedule was changed to run at times, and on events no longer, while it was pending",
        "Trigger the job if it must run after all.",
    )
    RESET = (
        "reset", Verdict.SKIPPED,
        "a person reset the schedule, which drops its backlog",
        "Backfill the range if it must run after all.",
    )
    RESTORED = (
        "restored", Verdict.SKIPPED,
        "the store was restored from a backup, and what the lost one did with it until {detail} is not known",
        "See in the logs of the job whether it ran then; trigger the job or backfill the range if it did not.",
    )
    DELETED = (
        "deleted", Verdict.SKIPPED,
        "the schedule was deleted while it was pending",
        "Nothing to do.",
    )
    SHADOW = (
        "shadow", Verdict.SKIPPED,
        "it would have run, but the schedule is in shadow: another scheduler still starts the job",
        "Compare both with tickwise shadow report; then tickwise shadow adopt lets Tickwise start it.",
    )
    SEEN = (
        "seen", Verdict.NOTED,
        "another scheduler started the job ({detail})",
        "Nothing to do in shadow. After the adoption, remove the job from the old scheduler.",
    )
    BROKEN = (
        "broken", Verdict.DEFERRED,
        "the schedule cannot be planned: {detail}",
        "Mend the definition; the others go on meanwhile.",
    )
    WAITS_FOR_RUN = (
        "waits_for_run", Verdict.DEFERRED,
        "it waits until run {detail} has ended",
        "Cancel that run to let it start now.",
    )
    WAITS_FOR_LANE = (
        "waits_for_lane", Verdict.DEFERRED,
        "it waits for a lane: all {detail} are held (max_active_runs)",
        "Raise max_active_runs, or cancel an active run.",
    )
    WAITS_BEHIND = (
        "waits_behind", Verdict.DEFERRED,
        "it waits behind the job's older slot {detail}",
        "Nothing to do; reset the schedule to drop the backlog.",
    )
    WAITS_FOR_SUCCESS = (
        "waits_for_success", Verdict.DEFERRED,
        "it waits for a success of {detail}",
        "See why that schedule has not succeeded yet.",
    )
    WAITS_FOR_BUDGET = (
        "waits_for_budget", Verdict.DEFERRED,
        "it waits until the schedule's budget of starts has room: {detail}",
        "Raise max_starts to let it start now.",
    )
    NO_WORKER = (
        "no_worker", Verdict.DEFERRED,
        "no live worker {detail}",
        "Start a worker of that queue with the folder or the app that defines the job, or with --allow-commands.",
    )
    UNREADABLE = (
        "unreadable", Verdict.DEFERRED,
        "what its guards need could not be read: {detail}",
        "See the store's health; the slot is held, not lost.",
    )

    LATE_START = (
        "late_start", Verdict.NOTED,
        "its work had not begun by its deadline, {detail}",
        "See why it waited or was skipped; allow more time in deadline.start if that is fine.",
    )
    LATE_FINISH = (
        "late_finish", Verdict.NOTED,
        "its work was not done by its deadline, {detail}",
        "See how long its runs take and what they wait for; allow more time in deadline.finish if that is fine.",
    )

    def explain(self, detail: str = "") -> str:
        """What happened, in a sentence."""
        return self.text.format(detail=detail or "…")

    @classmethod
    def of(cls, code: str) -> "Reason":
        """By its code. One that only a newer version knows has that code too, and is none of these."""
        if code in _BY_CODE:
            return _BY_CODE[code]
        stranger = object.__new__(cls)
        stranger._name_ = stranger._value_ = code
        stranger.code, stranger.verdict, stranger.text, stranger.advice = code, *_STRANGE
        return stranger


_STRANGE = (
    Verdict.SKIPPED,
    "a newer version decided it by a rule that this one does not know ({detail})",
    "Update this program to see why.",
)
_BY_CODE = {reason.code: reason for reason in Reason}
