"""The defaults for what a definition does not say."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from .templates import Template


class EngineRules(Protocol):
    """What a configured engine lets a job say."""

    def check(self, options: Mapping[str, Any], *, at_most_once: bool) -> None:
        """Refuse, by an InputError, options that it does not understand, or a promise that it cannot keep."""


class Defaults(NamedTuple):
    """Values from the settings; one that replaces a field has the field's name."""

    timezone: str = "UTC"
    grace: int | None = None  # seconds; None: the planner's default (S9)
    templates: Mapping[str, Template] = MappingProxyType({})  # the user's own, beside the built-in ones
    engines: Mapping[str, EngineRules] | None = MappingProxyType({})  # those that the settings name; none: any


NO_DEFAULTS = Defaults()
