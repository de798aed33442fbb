"""The two sides of `tickwise diff`: job files, a folder at a git revision, or a store.

A revision is read out of git's objects into a temporary folder; the working folder and the index stay as they are.
The default zone and the templates are those of the side itself: the tickwise.toml of its folder, or of the nearest
folder above it. A folder without one has the settings of this folder, a revision has none.
"""

import asyncio
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from posixpath import normpath
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ..config import FILE, load
from ..core.definition import JobDefinition
from ..core.errors import InputError
from ..core.states import RunState
from ..stores.url import hidden
from .commands.validate import read_jobs

_STORE = "store"
_TIMED_RUNS = 20


class JobSide(NamedTuple):
    """The jobs of one side and how it is called; of a store, its address and the sources of its jobs."""

    name: str
    jobs: list[JobDefinition]
    sources: frozenset[str] = frozenset()
    store: str | None = None


def read_side(text: str, source: str | None) -> JobSide:
    """`store` and an address are a store, REV:PATH is git's, anything else is a file or a folder."""
    if text == _STORE or "://" in text:
        return asyncio.run(_read_store(load({"store": None if text == _STORE else text}).store, source))
    if ":" in text and not Path(text).exists():
        return JobSide(text, _read_revision(text))
    path = Path(text).absolute()
    above = (folder / FILE for folder in (path, *path.parents))
    return JobSide(text, read_jobs(Path(text), next((file for file in above if file.is_file()), None)))


async def _read_store(url: str, source: str | None) -> JobSide:
    from ..app import AsyncTickwise  # noqa: PLC0415  (only a store needs it)
    from ..runtime.schedules import all_schedules  # noqa: PLC0415
    from ..stores.pages import all_pages  # noqa: PLC0415

    async with AsyncTickwise(url, create_store=False) as tickwise:
        insights = (await tickwise.store()).insights
        rows = await all_pages(insights.jobs)
        schedules = [schedule.definition for schedule in await all_schedules(insights)]
    if bad := next((row for row in rows if row.unreadable), None):
        raise InputError(f"{bad.definition.name} in the store cannot be read: {bad.unreadable}")
    sources = frozenset(row.source for row in rows)
    if source is not None and source not in sources:
        raise InputError(
            f"no job in the store comes from {source!r}: {', '.join(sorted(sources)) or 'it is empty'}"
        )
    jobs = [
        replace(row.definition, schedules=tuple(one for one in schedules if one.job == row.definition.name))
        for row in rows
        if source in (None, row.source)
    ]
    return JobSide(hidden(url), jobs, sources if source is None else frozenset({source}), url)


def read_run_times(store: str, jobs: Iterable[str]) -> dict[str, float]:
    """The median of the newest run times of each job that has some, in seconds."""
    return asyncio.run(_read_run_times(store, jobs))


async def _read_run_times(url: str, jobs: Iterable[str]) -> dict[str, float]:
    from ..app import AsyncTickwise  # noqa: PLC0415  (only a store needs it)
    from ..app.records import MICRO, RunFilter  # noqa: PLC0415

    async with AsyncTickwise(url, create_store=False) as tickwise:
        insights, found = (await tickwise.store()).insights, {}
        for job in jobs:
            wanted = RunFilter(job=job, states=frozenset({RunState.SUCCEEDED}))
            page = await insights.runs(wanted, limit=_TIMED_RUNS)
            if took := [
                run.finished_at - run.started_at for run in page.items if run.finished_at and run.started_at
            ]:
                found[job] = median(took) / MICRO
    return found


def _read_revision(text: str) -> list[JobDefinition]:
    """The job files of REV:PATH, as git spells it: the path is from the top, or with ./ from here."""
    found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", text, wanted=text).decode().strip()
    top = _git("rev-parse", "--show-toplevel", wanted=text).decode().strip()
    with TemporaryDirectory(prefix="tickwise-") as folder:
        path = Path(folder) / (Path(text.partition(":")[2]).name or "jobs")
        if _git("cat-file", "-t", found, wanted=text).strip() == b"blob":
            path.write_bytes(_git("cat-file", "blob", found, wanted=text))
        else:
            archive = _git("-C", top, "archive", "--format=tar", found, wanted=text)
            _extract(archive, path, text)
        settings = Path(folder) / FILE
        settings.write_bytes(_settings_of_revision(text))
        try:
            return read_jobs(path, settings)
        except InputError as error:
            raise InputError(str(error).replace(str(path), text)) from None


def _settings_of_revision(text: str) -> bytes:
    """The settings of REV:PATH, from the nearest folder at or above the path; nothing if it has none."""
    revision, _, path = text.partition(":")
    here = _git("rev-parse", "--show-prefix", wanted=text).decode().strip() if path.startswith(".") else ""
    place = PurePosixPath(normpath(here + path))
    known = _git("ls-tree", "-r", "-z", "--name-only", "--full-tree", revision, wanted=text).decode().split("\0")
    files = [str(folder / FILE) for folder in (place, *place.parents)]
    found = next((file for file in files if file in known), None)
    return _git("cat-file", "blob", f"{revision}:{found}", wanted=text) if found else b""


def _extract(archive: bytes, folder: Path, wanted: str) -> None:
    try:
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
    except tarfile.TarError as error:
        raise InputError(f"{wanted} cannot be read: {error}".replace(str(folder), wanted)) from None


def _git(*arguments: str, wanted: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise InputError(f"git is not installed here, so {wanted} cannot be read") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise InputError(f"git has no {wanted} here: write REV:PATH, such as main:jobs{said and f' ({said})'}")
    return done.stdout
