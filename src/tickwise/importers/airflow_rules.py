"""Airflow's times: croniter on the naive wall of the last run, made aware again."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import ClassVar

from .wall_clock import CronFields, WallRules

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (a wall)
_DAY = 1_440


@dataclass(frozen=True, slots=True)
class AirflowRules:
    """A time in a gap fires as much later as the gap is long; of two equal times the second counts.

    The next run is looked for after the wall time of the last, so what a gap has pushed later hides those before
    it. Texts that name every hour go by real time.
    """

    max_fires: ClassVar[int] = 600_000
    fields: CronFields
    zone: tzinfo

    def fires(self, start: int, end: int) -> list[int]:
        if len(self.fields.hours) == 24:
            return WallRules(self.fields, self.zone).fires(start, end)
        return [second for second in self._follow(start, end) if start <= second < end]

    def _follow(self, start: int, end: int) -> Iterator[int]:
        last = _EPOCH
        for minute in self.fields.minutes_between(start // 60 - 2 * _DAY, -(-end // 60) + _DAY):
            wall = _EPOCH + timedelta(minutes=minute)
            if wall > last:
                instant = self._instant(wall)
                last = instant.astimezone(self.zone).replace(tzinfo=None)
                yield int(instant.timestamp())

    def _instant(self, wall: datetime) -> datetime:
        second = wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC)
        if second.astimezone(self.zone).replace(tzinfo=None) == wall:
            return second
        return wall.replace(tzinfo=self.zone).astimezone(UTC)
