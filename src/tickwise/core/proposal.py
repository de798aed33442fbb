"""What an agent may propose, and how a proposal stands."""

from enum import StrEnum


class ProposedAct(StrEnum):
    """What can be proposed: requests that an operator may make."""

    PAUSE = "pause"
    RESUME = "resume"
    TRIGGER = "trigger"
    RESCHEDULE = "reschedule"
    SKIP = "skip"
    BACKFILL = "backfill"
    CANCEL = "cancel"
    RETRY = "retry"


class ProposalState(StrEnum):
    """How a proposal stands."""

    OPEN = "open"  # nobody has decided about it
    APPROVED = "approved"  # it was carried out
    REJECTED = "rejected"
    FAILED = "failed"  # it was approved, and what it asked for was refused
    EXPIRED = "expired"  # nobody decided in time
