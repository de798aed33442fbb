"""What a release consists of: pins with hashes, a bill of materials, and how to report a hole."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.sbom import ROOT, bill_of_materials, read_pins

LOCKS = sorted(path.relative_to(ROOT) for path in ROOT.glob("requirements*.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=str)
def test_every_pin_has_hashes(lock: Path) -> None:
    """A package whose files were replaced is not installed (B14)."""
    pins = read_pins(ROOT / lock)
    assert len(pins) > 20
    assert [pin.name for pin in pins if not pin.hashes] == []


def test_drivers_of_stores_are_pinned_too() -> None:
    """Who deploys over PostgreSQL, MongoDB or Redis installs their drivers from the same lock (B14)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {
        re.split(r"[<>=!~\[; ]", one)[0].lower()
        for one in (*project["dependencies"], *extras["postgres"], *extras["mongodb"], *extras["redis"])
    }
    pinned = {pin.name for pin in read_pins(ROOT / "requirements.lock")}
    assert {name.replace(".", "-") for name in wanted} <= pinned


def test_the_bill_of_materials_names_every_package(tmp_path: Path) -> None:
    """It has what CycloneDX requires: each package once, with its version and hashes; each time the same bytes."""
    target = tmp_path / "dist" / "bom.json"
    subprocess.run([sys.executable, "-m", "tools.sbom", str(target)], cwd=ROOT, check=True)
    bill = json.loads(target.read_text())
    assert bill == bill_of_materials()
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    main = bill["metadata"]["component"]
    assert (main["type"], main["name"]) == ("application", "tickwise")
    pins = {pin.purl: pin for pin in read_pins(ROOT / "requirements.lock")}
    components = {one["bom-ref"]: one for one in bill["components"]}
    assert len(components) == len(bill["components"]) == len(pins)
    for purl, one in components.items():
        assert (one["type"], one["purl"], one["name"]) == ("library", purl, pins[purl].name)
        [source] = one["externalReferences"]
        assert [hashed["content"] for hashed in source["hashes"]] == pins[purl].hashes
        assert {hashed["alg"] for hashed in source["hashes"]} == {"SHA-256"}
    [depends] = bill["dependencies"]
    assert depends["ref"] == main["bom-ref"]
    assert set(depends["dependsOn"]) <= set(components)
    assert any("/fastapi@" in one for one in depends["dependsOn"])


def test_a_hole_can_be_reported() -> None:
    """SECURITY.md says where, what is promised and for which versions; README leads to it."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    for heading in ("## Reporting", "## What is promised", "## Versions"):
        assert heading in text
    assert "SECURITY.md" in (ROOT / "docs" / "hardening.md").read_text("utf-8")
