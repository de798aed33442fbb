"""`tickwise diff`: what changes between two sets of job files, or between them and a store."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from ...core.errors import InputError
from ...core.timeparse import format_duration
from ..arguments import read_second
from ..diff_output import DiffReport, as_data, as_markdown, print_diff
from ..job_sides import JobSide, read_run_times, read_side
from ..output import AsJson, print_json

_HOUR = 3_600
_WEEK, _YEAR = 7 * 24, 366 * 24


def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help="Job files, REV:PATH, `store`, or the address of a store.")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="The same; what A is to become.")],
    start: Annotated[str | None, typer.Option("--from", help="Compare from this time on; default: now.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Compare until this time.")] = None,
    hours: Annotated[
        float | None, typer.Option(min=0.01, max=_YEAR, help="How long to compare; default: a week.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Only the jobs of a store that come from this source.")
    ] = None,
    *,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two folders, git revisions or stores of jobs: definitions and fires. Exits with 1 if they differ."""
    from ...app.job_diff import diff_jobs  # noqa: PLC0415  (numpy, which no error about an argument needs)

    if markdown and as_json:
        raise InputError("give --markdown or --json, not both")
    begin, stop = _window(start, end, hours)
    sides = read_side(before, source), read_side(after, source)
    compared = diff_jobs(sides[0].jobs, sides[1].jobs, begin, stop)
    notes = [*_overlap_notes(sides, [job.name for job in compared.changed], begin, stop), *_source_notes(sides)]
    report = DiffReport((sides[0].name, sides[1].name), begin, stop, compared, tuple(notes))
    if as_json:
        print_json(as_data(report))
    elif markdown:
        typer.echo("\n".join(as_markdown(report)))
    else:
        print_diff(report)
    raise typer.Exit(1 if compared.changed else 0)


def _window(start: str | None, end: str | None, hours: float | None) -> tuple[int, int]:
    if end is not None and hours is not None:
        raise InputError("give --to or --hours, not both")
    begin = read_second(start, "UTC")
    stop = begin + round((hours or _WEEK) * _HOUR) if end is None else read_second(end, "UTC")
    if not begin < stop <= begin + _YEAR * _HOUR:
        raise InputError("--to must be later than --from, by at most a year")
    return begin, stop


def _source_notes(sides: Sequence[JobSide]) -> Iterator[str]:
    """A store with several sources beside a folder: what the folder does not define is no removal of it."""
    for side, other in (sides, sides[::-1]):
        if len(side.sources) > 1 and not other.sources:
            yield f"the store has jobs of {', '.join(sorted(side.sources))}: --source compares only one of them"


def _overlap_notes(sides: Sequence[JobSide], changed: Sequence[str], start: int, end: int) -> Iterator[str]:
    """The jobs that would overlap themselves more often than so far, by their run times in the store."""
    from ...app.job_diff import count_overlaps  # noqa: PLC0415

    store = next((side.store for side in sides if side.store), None)
    old, new = ({job.name: job for job in side.jobs} for side in sides)
    kept = [name for name in changed if name in old and name in new]
    for name, run_time in (read_run_times(store, kept) if store else {}).items():
        before, after = (count_overlaps(jobs[name], run_time, start, end) for jobs in (old, new))
        if after > before:
            took = format_duration(round(run_time))
            yield (
                f"{name} takes {took} (median in the store): {after:,} starts would come "
                f"before the run before has ended, {before:,} so far"
            )
