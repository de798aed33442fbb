"""What may need a person beside the schedules: in the fleet, runs, queues, files and channels."""

from collections.abc import Sequence

from .attention import Attention, Cause, Remedy, Severity, Subject
from .payload import first_line
from .step_waits import StepWait, approver
from .timeparse import iso


def paused(at: int, by: str, reason: str, until: int | None = None) -> Attention:
    """Everything is paused."""
    return Attention(
        kind=Cause.PAUSED, severity=Severity.WARNING, subject=Subject("fleet", "everything"), since=at,
        detail=reason, text=f"is paused{f' by {by}' if by else ''}{f' until {iso(until)}' if until else ''}",
        remedies=(Remedy(do="resume_all", label="Resume"),),
    )  # fmt: skip


def set_back(at: int, command: str) -> Attention:
    """The store has forgotten what it had confirmed: a failover, or a restored backup (S78)."""
    return Attention(
        kind=Cause.SET_BACK, severity=Severity.WARNING, subject=Subject("fleet", "the store"), since=at,
        text="has forgotten what it had confirmed: slots of that time are decided again, and may run twice",
        detail="If a backup was restored, say until when the lost store worked.",
        remedies=(Remedy(do="command", label="It worked until then", command=command),),
    )  # fmt: skip


def no_ticker(overdue: int) -> Attention:
    """No ticker is alive, so no slot is decided."""
    return Attention(
        kind=Cause.SILENT, severity=Severity.ERROR, subject=Subject("fleet", "the fleet"),
        text="has no live ticker: no slot is decided", counts={"overdue": overdue},
        remedies=(Remedy(do="command", label="Start one", command="tickwise serve"),),
    )  # fmt: skip


def queue_unserved(queue: str, runs: int, command: str) -> Attention:
    """No live worker serves a queue in which runs wait."""
    return Attention(
        kind=Cause.NO_WORKER, severity=Severity.ERROR, subject=Subject("queue", queue), counts={"waiting": runs},
        text=f"has no live worker: {runs} {'run waits' if runs == 1 else 'runs wait'}",
        remedies=(Remedy(do="command", label="Start one", command=command),),
    )  # fmt: skip


def jobs_held(queue: str, missing: str, jobs: int, advice: str) -> Attention:
    """No live worker may execute jobs, whose slots are held (S47)."""
    number = "1 job holds its slots" if jobs == 1 else f"{jobs} jobs hold their slots"
    how, _, command = advice.partition(": ")
    return Attention(
        kind=Cause.NO_WORKER, severity=Severity.ERROR, subject=Subject("queue", queue), counts={"held": jobs},
        text=f"has no live worker that {missing}: {number}", detail="" if how == "Start one" else how,
        remedies=(Remedy(do="command", label="Start one", command=command),) if command else (),
    )  # fmt: skip


def broken_file(host: str, problem: str) -> Attention:
    """A source cannot read a definition."""
    file, _, what = problem.partition(":")
    return Attention(
        kind=Cause.BROKEN_FILE, severity=Severity.ERROR, subject=Subject("file", file),
        text=f"cannot be read on {host}" if host else "cannot be read", detail=first_line(what),
        remedies=(Remedy(do="command", label="Check it", command=f"tickwise validate {file}"),)
        if file.endswith((".yaml", ".yml")) else (),
    )  # fmt: skip


def approval(run: str, job: str, step: str, wait: StepWait) -> Attention:
    """A step of a run waits for a person (S75)."""
    until = f", until {iso(wait.until)}" if wait.until else ""
    return Attention(
        kind=Cause.APPROVAL, severity=Severity.WARNING, since=wait.since,
        subject=Subject("step", f"{job}, run {run}, step {step}", job),
        text=f"waits for {approver(wait.role)}{until}",
        remedies=(
            Remedy(
                do="answer", label="Answer", run=run, field=step, command=f"tickwise runs approve {run} {step}"
            ),
        ),
    )  # fmt: skip


def undelivered(host: str, problem: str) -> Attention:
    """The last notification did not arrive."""
    channel, _, what = problem.partition(":")
    return Attention(
        kind=Cause.UNDELIVERED, severity=Severity.ERROR, subject=Subject("channel", channel),
        text=f"did not take the last notification of {host}", detail=first_line(what),
        remedies=(Remedy(do="test_channel", label="Test it", field=channel),),
    )  # fmt: skip


def proposals(effects: Sequence[str], since: int) -> Attention:
    """Agents have proposed something, and nobody has decided about it."""
    number = len(effects)
    return Attention(
        kind=Cause.PROPOSED, severity=Severity.NOTE, since=since, counts={"open": number},
        subject=Subject("proposals", "1 proposal" if number == 1 else f"{number} proposals"),
        text="waits for you" if number == 1 else "wait for you", detail=first_line(effects[0]),
        remedies=(Remedy(do="proposals", label="Decide", command="tickwise proposals list"),),
    )  # fmt: skip
