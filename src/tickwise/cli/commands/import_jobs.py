"""`tickwise import`: the jobs of another scheduler as job files, with the proof that they fire as before."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...clock import now
from ...config import load
from ...core.cron.zone import zone
from ...core.errors import InputError, did_you_mean, nearest_word
from ...core.timeparse import iso, to_datetime
from ...importers.model import Imported, ReadOptions, Refused
from ...importers.proof import Proof
from ..arguments import read_second
from ..import_shadow import call_lines, in_shadow
from ..import_source import is_system_crontab, machine_zone, read_files, read_own_crontab
from ..imported_jobs import JobFile, as_comment, build_job_files, crowds, differences, fires, job_file_lines
from ..output import AsJson, plain, print_block, print_json, print_line, print_note
from ..target import import_target

_YEAR = 365 * 86_400
_MAX_WHEN = 30  # the width of the old times on a terminal
_MARKS = {"same": ("✓", "green"), "differs": ("≠", "yellow"), "unknown": ("?", "yellow"), "no times": ("–", "dim")}


class _Kind(NamedTuple):
    """A kind of source: its module, and which files of a folder it reads; of no files, an object of Python."""

    module: str
    patterns: tuple[str, ...] = ()


_KINDS = {
    "crontab": _Kind("crontab", ("*",)),
    "systemd": _Kind("systemd", ("*.timer", "*.service")),
    "kubernetes": _Kind("kubernetes", ("*.yaml", "*.yml")),
    "github-actions": _Kind("github_actions", ("*.yaml", "*.yml")),
    "airflow": _Kind("airflow", ("*.py",)),
    "celery": _Kind("celery_beat"),
    "celery-beat": _Kind("beat_tables"),
    "apscheduler": _Kind("apscheduler"),
}

_CODE_KINDS = {"apscheduler": _Kind("apscheduler_code", ("*.py",))}  # where the source is a file or a folder
_DATABASE_KINDS = {"apscheduler": _Kind("apscheduler_store")}  # where it is the URL of a database


class _Outcome(NamedTuple):
    """What a command prints."""

    imported: Imported
    files: list[JobFile]
    refused: list[Refused]
    days: str  # that were compared

    @property
    def notes(self) -> list[str]:
        return [*self.imported.notes, *crowds(self.files)]

    @property
    def calls(self) -> list[str]:
        """How the old scheduler tells its fires, if the jobs are in shadow."""
        return list(call_lines(self.files, self.imported.scheduler))


def import_jobs(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(_KINDS)}.")],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="A file, a folder, -, module:app, or a database. Default for crontab: your own.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Write a job file for each job into this folder."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", "-z", help="The zone of times that name none; default: this machine's."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="DAY", help="Compare the year from this day on; default: today."),
    ] = None,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Print only the comparison.")] = False,
    shadow: Annotated[
        bool,
        typer.Option("--shadow", help="Write `shadow: true`, and print how the old scheduler tells its fires."),
    ] = False,
    system: Annotated[
        bool, typer.Option("--system", help="Entries of the crontab name a user, as in /etc/crontab.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Turn the jobs of another scheduler into job files, and prove that they fire as before."""
    options = ReadOptions(timezone, machine_zone(), system or is_system_crontab(source))
    where = zone(timezone or options.machine_zone)
    begin = read_second(start or f"{now():%Y-%m-%d}", where.name)
    imported = _import_source(kind, source, options)
    if shadow:
        imported = in_shadow(imported)
    files, refused = build_job_files(imported, load().of_definitions, begin, begin + _YEAR)
    days = " to ".join(f"{to_datetime(at, where.tzinfo):%Y-%m-%d}" for at in (begin, begin + _YEAR))
    outcome = _Outcome(imported, files, refused, days)
    if out is not None:
        _write_files(out, outcome)
    if as_json:
        print_json(_as_json(outcome))
    elif explain or out is not None:
        _print_comparison(outcome)
    else:
        _print_yaml(outcome)
    if out is not None and not as_json:
        print_line(
            f"Wrote {_count(len(files), 'job file')} into {out}. When you have read them: tickwise serve {out}"
        )
    raise typer.Exit(1 if refused else 0)


def _import_source(kind: str, source: str | None, options: ReadOptions) -> Imported:
    known = _find_kind(kind, source)
    try:
        reader = import_module(f"tickwise.importers.{known.module}")
    except ModuleNotFoundError as error:
        raise InputError(_missing_module(kind, str(error.name))) from None
    if source is None:
        origin: Any = read_own_crontab()
    elif known.patterns:
        origin = read_files(source, known.patterns)
    else:
        origin = _open_target(kind, source)
        if not isinstance(origin, reader.ORIGIN):
            raise InputError(f"{source} is a {type(origin).__name__}, not a {reader.ORIGIN.__name__}")
    imported: Imported = reader.read(origin, options)
    return imported


def _find_kind(kind: str, source: str | None) -> _Kind:
    """How a source of this kind is read."""
    if kind not in _KINDS:
        near = did_you_mean(nearest_word(kind, _KINDS))
        raise InputError(f"{kind[:40]!r} is no kind that can be imported: {', '.join(_KINDS)}{near}")
    if source is None:
        if kind != "crontab":
            raise InputError(f"say what to import: tickwise import {kind} SOURCE")
        return _KINDS[kind]
    special = _DATABASE_KINDS if "://" in source else _CODE_KINDS if Path(source).exists() else {}
    return special.get(kind, _KINDS[kind])


def _missing_module(kind: str, name: str) -> str:
    """Why the library of a kind cannot be imported, and what to give instead."""
    if kind == "apscheduler" and name.startswith("apscheduler."):
        return (
            "APScheduler 4 is installed here, whose schedulers hold no jobs until they run: give the file or "
            "folder of the code that adds the schedules, or the URL of its data store"
        )
    instead = ", or give the file of the code" if kind in _CODE_KINDS else ""
    return f"{name} is not installed here: run this where {kind} runs{instead}"


def _open_target(kind: str, source: str) -> Any:
    """What a source names that is no file: an object of Python, or the tables of a database."""
    if kind == "celery-beat":
        from ..beat_database import read_beat_tables  # noqa: PLC0415  (it needs Celery)

        return read_beat_tables(source)
    if kind in _DATABASE_KINDS and "://" in source:
        from ..apscheduler_database import read_schedule_rows  # noqa: PLC0415  (few commands read a database)

        return read_schedule_rows(source)
    return import_target(source)


def _write_files(folder: Path, outcome: _Outcome) -> None:
    """One file for each job; nothing is written if one of them is there already."""
    targets = {folder / f"{file.imported.name}.yaml": file for file in outcome.files}
    there = [path for path in targets if path.exists()]
    if there:
        raise InputError(f"{there[0]} exists already: nothing was written; give another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, file in targets.items():
            path.write_text("\n".join([*job_file_lines(file, outcome.imported.scheduler), ""]), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or folder} cannot be written: {error.strerror}") from None


def _print_yaml(outcome: _Outcome) -> None:
    """Job files as one stream: what could not be carried over stands in its comments."""
    head = [f"Note: {note}" for note in outcome.notes]
    head += [f"Not imported: {each.place}: {each.text}: {each.problem}" for each in outcome.refused]
    head += outcome.calls
    documents = ["\n".join(job_file_lines(file, outcome.imported.scheduler)) for file in outcome.files]
    comments = "\n".join(f"# {as_comment(line)}" for line in head)
    typer.echo("\n---\n".join(([comments] if comments else []) + documents))
    print_note(f"{_summary(outcome)} --explain compares them, --out FOLDER writes a file for each.")


def _print_comparison(outcome: _Outcome) -> None:
    if outcome.files:
        print_block(_comparison_table(outcome))
    for each in outcome.refused:
        print_line(Text.assemble(("✗ ", "bold red"), plain(f"{each.place}: {each.text}: {each.problem}")))
    for note in outcome.notes:
        print_line(f"· {note}", "dim")
    for line in outcome.calls:
        print_line(line)
    print_line(_summary(outcome), "bold")


def _comparison_table(outcome: _Outcome) -> Table:
    scheduler = outcome.imported.scheduler
    grid = Table.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", max_width=_MAX_WHEN if Console().is_terminal else None)
    grid.add_column(overflow="fold")
    for file in outcome.files:
        mark, style = _MARKS[file.verdict]
        grid.add_row(
            Text(mark, style), plain(file.imported.name, "bold"), plain(file.imported.when), fires(file, scheduler)
        )
        for line in differences(file, scheduler):
            grid.add_row("", "", "", plain(line, "yellow"))
        for line in file.imported.notes:
            grid.add_row("", "", "", plain(line, "dim"))
    return grid


def _summary(outcome: _Outcome) -> str:
    verdicts = [file.verdict for file in outcome.files]
    counts = {
        "the same": verdicts.count("same"),
        "different": verdicts.count("differs"),
        "not compared": verdicts.count("unknown"),
        "without times": verdicts.count("no times"),
        "not imported": len(outcome.refused),
    }
    said = ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "no jobs"
    return f"Tickwise beside {outcome.imported.scheduler}, {outcome.days}: {said}."


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"1 {one}" if number == 1 else f"{number} {many or one + 's'}"


def _as_json(outcome: _Outcome) -> dict[str, Any]:
    return {
        "scheduler": outcome.imported.scheduler,
        "jobs": [_job_json(file, outcome.imported.scheduler) for file in outcome.files],
        "refused": [{"place": e.place, "text": e.text, "problem": e.problem} for e in outcome.refused],
        "notes": outcome.notes,
        "calls": outcome.calls,
    }


def _job_json(file: JobFile, scheduler: str) -> dict[str, Any]:
    job = file.imported
    return {
        "name": job.name,
        "place": job.place,
        "when": job.when,
        "definition": {"name": job.name, **job.fields},
        "yaml": "\n".join(job_file_lines(file, scheduler)),
        "notes": list(job.notes),
        "verdict": file.verdict,
        "proof": None if file.proof is None else _proof_json(file.proof),
    }


def _proof_json(proof: Proof) -> dict[str, Any]:
    return {
        "from": iso(proof.start),
        "to": iso(proof.end),
        "theirs": proof.theirs,
        "ours": proof.ours,
        "unavailable": proof.unavailable,
        "differences": [
            {
                "day": str(each.day),
                "change": each.change,
                "theirs": [iso(second) for second in each.theirs],
                "ours": [iso(second) for second in each.ours],
            }
            for each in proof.differences
        ],
    }
