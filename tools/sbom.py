"""The software bill of materials of a release: CycloneDX 1.5 JSON, from pyproject.toml and requirements.lock.

`python -m tools.sbom dist/tickwise.cdx.json` writes it. It is made of what is pinned, not of what happens to be
installed, so the same tree gives the same bytes.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
LOCK = "requirements.lock"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class Pin(NamedTuple):
    """One package of a lock file, with the hashes of its files."""

    name: str
    version: str
    marker: str
    hashes: list[str]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_pins(lock: Path) -> list[Pin]:
    """Every package that a lock file pins; refused if a line is neither a pin nor a hash."""
    pins: list[Pin] = []
    for line in lock.read_text("utf-8").splitlines():
        found, hashed = _PIN.fullmatch(line), _HASH.search(line)
        if found:
            pins.append(Pin(_normalized(found["name"]), found["version"], found["marker"] or "", []))
        elif hashed and pins:
            pins[-1].hashes.append(hashed[1])
        elif line.strip() and not line.lstrip().startswith("#"):
            raise ValueError(f"{lock}: cannot read {line!r}: run make lock")
    return pins


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bill_of_materials(root: Path = ROOT) -> dict[str, Any]:
    """The document."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    pins = read_pins(root / LOCK)
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    components = [_component(pin) for pin in pins]
    serial = uuid5(NAMESPACE_URL, json.dumps([own, components], sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": own, "name": project["name"], "version": project["version"],
                "purl": own, "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": sorted(_direct(project, pins))}],
    }  # fmt: skip


def _component(pin: Pin) -> dict[str, Any]:
    source = {
        "type": "distribution",
        "url": f"https://pypi.org/project/{pin.name}/{pin.version}/",
        "hashes": [{"alg": "SHA-256", "content": one} for one in pin.hashes],
    }
    marked = {"properties": [{"name": "python:marker", "value": pin.marker}]} if pin.marker else {}
    return {
        "type": "library", "bom-ref": pin.purl, "name": pin.name, "version": pin.version, "purl": pin.purl,
        "externalReferences": [source], **marked,
    }  # fmt: skip


def _direct(project: dict[str, Any], pins: list[Pin]) -> Iterator[str]:
    """The packages that pyproject.toml names, as they are pinned."""
    extras = project.get("optional-dependencies", {})
    drivers = [driver for store in ("postgres", "mongodb", "redis") for driver in extras.get(store, ())]
    for wanted in [*project["dependencies"], *drivers]:
        found = _NAME.match(wanted)
        yield from (pin.purl for pin in pins if found and pin.name == _normalized(found[0]))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill_of_materials(), indent=2) + "\n", "utf-8")
