"""The site of docs/ for this version: `python -m tools.site [FOLDER]` builds it into FOLDER/X.Y (else site/X.Y).

Other versions that are there stay. `versions.json` lists all of them for Material's menu, in the form of mike; the
page of the folder itself leads to the newest.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"\d+\.\d+")
_INDEX = '<!doctype html><title>Tickwise</title><meta http-equiv="refresh" content="0; url={0}/index.html">\n'


def build(folder: Path) -> Path:
    """The folder of this version; CalledProcessError if a link is dead or a page is missing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    target = folder / ".".join(project["version"].split(".")[:2])
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(target.absolute())]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)  # noqa: S603  (a command of this file)
    list_versions(folder)
    return target


def list_versions(folder: Path) -> None:
    """Write what leads from one version to the others."""
    found = [path.parent.name for path in folder.glob("*/index.html") if _VERSION.fullmatch(path.parent.name)]
    found.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    listed = [
        {"version": name, "title": name, "aliases": ["latest"] if name == found[0] else []} for name in found
    ]
    (folder / "versions.json").write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
    (folder / "index.html").write_text(_INDEX.format(found[0]), "utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else "site"))
