"""What a definition is read with where it says nothing itself."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .templates import Template


class Defaults(NamedTuple):
    """Of the settings of who reads it; those that stand in for a field are named like it."""

    timezone: str = "UTC"
    grace: int | None = None  # seconds; none: as the planner has it (S9)
    templates: Mapping[str, Template] = MappingProxyType({})  # the user's own, beside the built-in ones


NO_DEFAULTS = Defaults()
