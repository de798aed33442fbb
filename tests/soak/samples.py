"""What a fleet and its store need of the machine, looked at again and again, and whether that stays as it was."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psycopg

KIBI, MEBI = 1_024, 1 << 20
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(relid)), 0), coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables"
)


class StoreSize(NamedTuple):
    """What the store takes on its disk, and its dead rows. SQLite has none: what is free in its files is size."""

    megabytes: float
    dead: int


class Sample(NamedTuple):
    """One look, after so many runs."""

    runs: int
    memory: float  # of the server process, in MiB
    descriptors: int  # likewise
    size: float  # of the store, in MiB
    dead: int
    processor: float  # milliseconds of the server for a run, since the sample before
    lateness: float  # seconds from an hour until its last run has ended: the quickest since the sample before


class Metric(NamedTuple):
    """What a figure is called, and how it may grow from the first half to the second."""

    title: str
    factor: float
    spare: float  # beyond that, for figures that are small


METRICS: Mapping[str, Metric] = {
    "memory": Metric("memory of the server, MiB", 1.10, 0),
    "descriptors": Metric("open files of the server", 1.10, 2),
    "size": Metric("size of the store, MiB", 1.15, 0),
    "dead": Metric("dead rows (PostgreSQL)", 1.25, 1_000),
    "processor": Metric("processor time of the server for a run, ms", 1.25, 0),
    "lateness": Metric("seconds until an hour's runs have ended", 1.50, 0.2),
}


class Drift(NamedTuple):
    """A figure in both halves of the time after the warm-up."""

    name: str
    first: float
    second: float

    @property
    def is_flat(self) -> bool:
        metric = METRICS[self.name]
        return self.second <= self.first * metric.factor + metric.spare

    def __str__(self) -> str:
        return f"{METRICS[self.name].title}: {self.first:,.2f} in the first half, {self.second:,.2f} in the second"


def drifts(samples: Sequence[Sample], warm_up: int) -> list[Drift]:
    """The medians of each figure, after so many runs: a disk that hung for a moment is no drift."""
    counted = [sample for sample in samples if sample.runs > warm_up]
    half = len(counted) // 2
    first, second = counted[:half], counted[half:]
    return [Drift(name, _median(first, name), _median(second, name)) for name in METRICS]


def _median(samples: Sequence[Sample], name: str) -> float:
    return float(median(getattr(sample, name) for sample in samples))


class ProcessNeeds(NamedTuple):
    """What a process has of the machine."""

    memory: float  # MiB
    descriptors: int
    processor: float  # seconds, since it began


def process_needs(pid: int) -> ProcessNeeds:
    place = Path("/proc", str(pid))
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    times = (place / "stat").read_text().rpartition(")")[2].split()[11:13]  # user and system, in ticks
    processor = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return ProcessNeeds(int(status["VmRSS"].split()[0]) / KIBI, len(list((place / "fd").iterdir())), processor)


def size_reader(url: str) -> Callable[[], StoreSize]:
    """How the size of a store is read."""
    if url.startswith("sqlite"):
        return lambda: _size_of_files(Path(url.removeprefix("sqlite:///")))
    return lambda: _size_of_database(url)


def _size_of_files(file: Path) -> StoreSize:
    """Without the log of writes, which is as long as it once had to be."""
    return StoreSize(sum(each.stat().st_size for each in (file, file.with_stem(f"{file.stem}-logs"))) / MEBI, 0)


def _size_of_database(url: str) -> StoreSize:
    with psycopg.connect(url, autocommit=True) as connection:
        size, dead = connection.execute(_SIZE).fetchone() or (0, 0)
    return StoreSize(float(size) / MEBI, int(dead))
