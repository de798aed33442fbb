"""Builds what a job or a step says about the engine that executes it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.definition import EngineUse
from ...core.errors import did_you_mean, nearest_word
from ...core.read_only_dict import ReadOnlyDict
from ..defaults import EngineRules
from .error import ErrorList, Loc


class KnownEngines(NamedTuple):
    """The engines of the settings, and what the job needs of each."""

    rules: Mapping[str, EngineRules] | None  # none: any
    at_most_once: bool


def build_engine(
    given: str | dict[str, Any] | None, loc: Loc, known: KnownEngines, errors: ErrorList
) -> EngineUse | None:
    """The settings must name the engine, and its kind must understand the options."""
    if given is None:
        return None
    options = {"name": given} if isinstance(given, str) else dict(given)
    name = options.pop("name", None)
    if not isinstance(name, str):
        errors.add(loc, "has no name: write {name: gpu, …}, with the name of an engine in the settings")
        return None
    if known.rules is None:
        return EngineUse(name, ReadOnlyDict(options))
    if name not in known.rules:
        near = nearest_word(name, known.rules)
        advice = did_you_mean(near) if near else f": add [engines.{name}] to the settings"
        errors.add(loc, f"the settings name no engine {name[:60]!r}{advice}", near)
        return None
    with errors.at(*loc):
        known.rules[name].check(options, at_most_once=known.at_most_once)
    return EngineUse(name, ReadOnlyDict(options))
