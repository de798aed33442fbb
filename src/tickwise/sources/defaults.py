"""What a definition is read with where it says nothing itself."""

from typing import NamedTuple


class Defaults(NamedTuple):
    """Of the settings of who reads it; named like the fields that they stand in for."""

    timezone: str = "UTC"
    grace: int | None = None  # seconds; none: as the planner has it (S9)


NO_DEFAULTS = Defaults()
