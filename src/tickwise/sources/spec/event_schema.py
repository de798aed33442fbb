"""The fields of `on_event` (S70, S71)."""

from ...core.errors import InputError
from ...core.events import MAX_WATCHED_JOBS
from .field_types import Many
from .fields import DURATION, END_STATE, EVENT_KEY, NAME_TEXT, SECRET_NAME, SENDER, WATCHED_PATH, whole
from .model import ModelType, Spec, optional, required


class HookSpec(Spec):
    signed_with = required(SECRET_NAME, "The secret of the settings that signs the calls.", "deploy_hook")
    sender = optional(SENDER, "Whose headers the calls have; Tickwise's own if left out.", "github")
    key = optional(
        EVENT_KEY, "What makes two calls the same event; the digest of the body if left out.", "json:delivery.id"
    )


class SettledFileSpec(Spec):
    path = required(
        WATCHED_PATH, "A file, or the files of a directory: its last part may be a pattern.", "/in/*.csv"
    )
    settle = optional(DURATION, "How long a file has not changed when it is an event; 5s if left out.", "30s")


class CoalesceSpec(Spec):
    quiet = required(DURATION, "How long nothing has come when the run starts.", "30s")
    at_most = required(DURATION, "How long the first event waits at the most.", "5m")

    def check(self) -> None:
        if self.at_most < self.quiet:
            raise InputError("at_most is shorter than quiet")


class OnEventSpec(Spec):
    """Which events start a run; without a source those that people and programs send."""

    hook = optional(ModelType(HookSpec), "Signed calls of /hooks/NAME.", {"signed_with": "deploy_hook"})
    file = optional(ModelType(SettledFileSpec), "Files that have been written.", {"path": "/data/in/*.csv"})
    job = optional(NAME_TEXT, "The job whose runs end.", "extract")
    jobs = optional(
        Many(NAME_TEXT, least=2, most=MAX_WATCHED_JOBS), "Jobs whose runs end.", ["orders", "stock", "prices"]
    )
    state = optional(END_STATE, "Which ends of those; success if left out.", "failure")
    at_least = optional(
        whole(1, MAX_WATCHED_JOBS), "Of how many of the jobs a run has ended; of all if left out.", 2
    )
    within = optional(DURATION, "How far apart those ends may lie.", "1h")
    coalesce = optional(
        ModelType(CoalesceSpec), "One run for all that came; one for each if left out.",
        {"quiet": "30s", "at_most": "5m"},
    )  # fmt: skip
    window = optional(DURATION, "How long the same key is the same event; 10m if left out.", "1h")

    def check(self) -> None:
        sources = [name for name in ("hook", "file", "job", "jobs") if self.given.get(name) is not None]
        if len(sources) > 1:
            raise InputError(f"has one source of events, not {' and '.join(sources)}")
        needed = {"state": ("job", "jobs"), "at_least": ("jobs",), "within": ("jobs",)}
        for name, others in needed.items():
            if self.given.get(name) is not None and not set(others) & {*sources}:
                raise InputError(f"{name} goes with {' or '.join(others)}")
        if self.jobs is not None:
            _check_joined(self.jobs, self.at_least or len(self.jobs), self.within)


def _check_joined(jobs: list[str], at_least: int, within: int | None) -> None:
    if len({*jobs}) < len(jobs):
        raise InputError("jobs names a job twice")
    if at_least > len(jobs):
        raise InputError(f"at_least is {at_least}, and jobs names {len(jobs)}")
    if (within is None) is (at_least > 1):
        raise InputError(
            "within is missing: say how far apart the ends may lie, such as within: 1h"
            if at_least > 1
            else "within goes with at_least over 1: each end is an event by itself"
        )
