"""The kinds of engine, and the engines that the settings name.

    [engines.gpu]
    kind = "ray"
    address = "http://ray-head:8265"

A kind's module is imported only when an engine of it is used, because each needs a library of its own. An engine
that you have written is named by its class: `kind = "company.engines:BatchEngine"`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from ...core.definition import check_name
from ...core.errors import InputError, did_you_mean, nearest_word
from ...toml_table import read_table
from .contract import Engine


class EngineKind(NamedTuple):
    """Where a kind of engine is written, and what it needs."""

    module: str
    name: str
    extra: str  # of this package, with the libraries that it needs


KINDS = {
    "celery": EngineKind("celery", "CeleryEngine", "celery"),
    "dask": EngineKind("dask", "DaskEngine", "dask"),
    "kubernetes": EngineKind("kubernetes", "KubernetesEngine", "kubernetes"),
    "ray": EngineKind("ray", "RayEngine", ""),
    "ssh": EngineKind("ssh", "SshEngine", ""),
}


_OWN_KIND = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class ConfiguredEngine:
    """An engine as the settings name it."""

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)  # addresses may hold passwords

    def open(self) -> Engine:
        """The engine, which connects when it is first used."""
        return _engine_class(self).from_settings(self.name, self.settings)

    def check(self, options: Mapping[str, Any], *, at_most_once: bool) -> None:
        """Refuse what a job says for this engine and cannot be right (S53)."""
        engine = _engine_class(self)
        engine.check_options(options)
        if at_most_once and not engine.asks_gate(options):
            raise InputError(
                f"at_most_once needs work that asks before it begins, and with these options the work on "
                f"{self.name} does not"
            )


def _engine_class(engine: ConfiguredEngine) -> type[Engine]:
    if ":" in engine.kind:
        return _own_class(engine)
    kind = KINDS[engine.kind]
    try:
        module = import_module(f".{kind.module}", __package__)
    except ModuleNotFoundError as error:
        if not kind.extra or (error.name or "").startswith("tickwise"):
            raise
        raise InputError(
            f"the engine {engine.name} needs a library that is not installed ({error.name}): "
            f"pip install 'tickwise[{kind.extra}]'"
        ) from None
    found: type[Engine] = getattr(module, kind.name)
    return found


def _own_class(engine: ConfiguredEngine) -> type[Engine]:
    """The class that `module:Class` names."""
    module, _, name = engine.kind.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except ImportError as error:
        raise InputError(f"the engine {engine.name}: {module} cannot be imported: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Engine)):
        raise InputError(f"the engine {engine.name}: {engine.kind} is not a class of engine")
    return found


def read_engines(given: Any) -> Mapping[str, ConfiguredEngine]:
    """The table `[engines]` of the settings: names with `kind` and what that kind needs. A string is TOML."""
    table = read_table(given, 'a table for each engine: [engines.gpu], and under it kind = "ray"')
    return {
        check_name(str(name), "the name of an engine"): _read_engine(str(name), one) for name, one in table.items()
    }


def _read_engine(name: str, given: Any) -> ConfiguredEngine:
    if isinstance(given, ConfiguredEngine):
        return given
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if kind not in KINDS and not (isinstance(kind, str) and _OWN_KIND.fullmatch(kind)):
        near = nearest_word(kind, KINDS) if isinstance(kind, str) else None
        raise InputError(f"{name}: write kind = one of {', '.join(KINDS)}{did_you_mean(near)}, or module:Class")
    return ConfiguredEngine(name, str(kind), {key: value for key, value in given.items() if key != "kind"})
