"""What an installation consists of: `python -m tools.footprint` prints packages and megabytes.

It reads the metadata of the packages that are installed here, without bytecode, so it needs no network. A package
that is not installed here is an error.
"""

from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SOURCE = Path(__file__).parents[1] / "src" / "tickwise"
LIGHT = ("structlog", "tzdata")  # what functions on SQLite need (docs/adr/0056)
_INSTALLATIONS = {
    "pip install --no-deps tickwise; pip install structlog tzdata": LIGHT,
    "pip install tickwise": ("tickwise",),
    "pip install 'tickwise[postgres]'": ("tickwise[postgres]",),
}


def packages(wanted: Iterable[str]) -> dict[str, Distribution]:
    """The packages that these requirements install on this machine, by name; not Tickwise itself."""
    found: dict[str, Distribution] = {}
    seen: set[str] = set()
    waiting = [Requirement(text) for text in wanted]
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        package = distribution(requirement.name)
        found[canonicalize_name(requirement.name)] = package
        waiting += _required(package, requirement.extras or {""})
    found.pop("tickwise", None)
    return found


def _required(package: Distribution, extras: Iterable[str]) -> list[Requirement]:
    needed = [Requirement(text) for text in package.requires or ()]
    return [one for one in needed if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras)]


def megabytes(found: Iterable[Distribution]) -> float:
    """The size of these packages and of Tickwise."""
    files = (package.locate_file(file) for package in found for file in package.files or ())
    paths = [*map(Path, map(str, files)), *SOURCE.rglob("*")]
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file()) / 1e6


def main() -> None:
    for command, wanted in _INSTALLATIONS.items():
        found = packages(wanted)
        print(f"{len(found) + 1:3} packages  {megabytes(found.values()):5.0f} MB  {command}")  # noqa: T201


if __name__ == "__main__":
    main()
