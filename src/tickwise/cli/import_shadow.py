"""`tickwise import --shadow`: jobs in shadow, and how the old scheduler tells Tickwise what it starts (S80)."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from ..config import load
from ..importers.model import Imported
from .imported_jobs import JobFile

_RELATIVE_FILE = "sqlite:///"


def in_shadow(imported: Imported) -> Imported:
    """The same jobs, decided and never run; one without times has nothing to compare."""
    jobs = [
        replace(job, fields={**job.fields, "shadow": True}) if "schedule" in job.fields else job
        for job in imported.jobs
    ]
    return replace(imported, jobs=jobs)


def call_lines(files: Sequence[JobFile], scheduler: str) -> Iterator[str]:
    """What to write into the old scheduler, one line for each job in shadow."""
    shaded = [file.imported for file in files if file.imported.fields.get("shadow")]
    if not shaded:
        return
    yield f"In shadow: let {scheduler} tell what it starts."
    for job in shaded:
        call = f"{_program()} seen {quote(job.name)}{_store_option()}"
        yield job.call_place.line(call) if job.call_place else f"before {job.name}: {call}"


def _program() -> str:
    """The path of this program: cron and systemd look for programs in few folders."""
    here = Path(sys.argv[0])
    found = str(here.absolute()) if here.name == "tickwise" and here.exists() else shutil.which("tickwise")
    return quote(found or "tickwise")


def _store_option() -> str:
    """Which store, if that depends on the folder; another is in the settings, and may have a password."""
    store = load().store
    if not store.startswith(_RELATIVE_FILE) or store.startswith(f"{_RELATIVE_FILE}/"):
        return ""
    return f" --store {quote(_RELATIVE_FILE + str(Path(store.removeprefix(_RELATIVE_FILE)).absolute()))}"
