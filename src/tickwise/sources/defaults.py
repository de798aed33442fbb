"""The defaults for what a definition does not say."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .templates import Template


class Defaults(NamedTuple):
    """Values from the settings; one that replaces a field has the field's name."""

    timezone: str = "UTC"
    grace: int | None = None  # seconds; None: the planner's default (S9)
    templates: Mapping[str, Template] = MappingProxyType({})  # the user's own, beside the built-in ones


NO_DEFAULTS = Defaults()
