"""The files of others that the dashboard and its tests are made of, from npm packages: `python -m tools.vendor`.

`vendor.json` names each package with its version, the hash of its archive, and the hash of every file in the
tree. For another version, change `version` and empty `integrity`; everything else is written anew. A module's
imports are rewritten to the files beside it, so that browsers find them without a build and without an import map.

CodeMirror is many packages that need each other: `codemirror/` names them in a lock file of npm, which has the
hash of each archive, and esbuild makes one file of what `codemirror.js` there exports.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = Path(__file__).with_name("vendor.json")
BUNDLE = Path(__file__).with_name("codemirror")
_ESBUILD = (
    "node_modules/.bin/esbuild codemirror.js --bundle --minify --format=esm --target=es2022 --legal-comments=none"
)
_IMPORT = re.compile(rb'from"([^"./][^"]*)"')
_SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")
_MODULES = {
    b"preact": b"preact.js", b"preact/hooks": b"hooks.js", b"@preact/signals-core": b"signals-core.js",
}  # fmt: skip


def read_packages() -> list[dict[str, Any]]:
    packages: list[dict[str, Any]] = json.loads(PACKAGES.read_text("utf-8"))
    return packages


def rewrite_module(content: bytes) -> bytes:
    """The module without a source map that nobody has, and with imports of the files beside it."""
    linked = _IMPORT.sub(lambda found: b'from "./%b"' % _MODULES[found[1]], content)
    return _SOURCE_MAP.sub(b"", linked).rstrip() + b"\n"


def download(package: dict[str, Any], folder: Path) -> Path:
    """The archive of a package, which must have the hash that is known of it."""
    command = ["npm", "pack", "--silent", f"{package['name']}@{package['version']}"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603
    archive = folder / done.stdout.strip().splitlines()[-1]
    found = f"sha512-{b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()}"
    if package["integrity"] not in ("", found):
        raise SystemExit(f"{archive.name}: its hash is {found}, not {package['integrity']}: do not use it")
    package["integrity"] = found
    return archive


def unpack(package: dict[str, Any], archive: Path) -> None:
    into = ROOT / package["into"]
    into.mkdir(parents=True, exist_ok=True)
    package["sha256"] = {}
    with tarfile.open(archive) as tar:
        for source, name in package["files"].items():
            member = tar.extractfile(f"package/{source}")
            if member is None:
                raise SystemExit(f"{archive.name}: {source} is no file")
            content = member.read()
            if source.endswith((".mjs", ".esm.js")):
                content = rewrite_module(content)
            (into / name).write_bytes(content)
            package["sha256"][name] = hashlib.sha256(content).hexdigest()


def bundle(known: dict[str, Any], folder: Path) -> None:
    """One module of the packages in `codemirror/`, and their licences as one text."""
    built = folder / "codemirror"
    shutil.copytree(BUNDLE, built)
    subprocess.run(["npm", "ci", "--silent", "--ignore-scripts"], cwd=built, check=True)  # noqa: S607
    done = subprocess.run(_ESBUILD.split(), cwd=built, check=True, capture_output=True)  # noqa: S603
    licences = sorted((built / "node_modules").glob("**/LICENSE"))
    own = [path for path in licences if "esbuild" not in str(path)]
    texts = [
        f"{path.parent.relative_to(built / 'node_modules')}\n\n{path.read_text('utf-8').strip()}\n" for path in own
    ]
    contents = {"codemirror.js": done.stdout, "codemirror.LICENSE.txt": "\n\n".join(texts).encode()}
    for name, content in contents.items():
        (ROOT / known["into"] / name).write_bytes(content)
        known["sha256"][name] = hashlib.sha256(content).hexdigest()


def main() -> None:
    packages = read_packages()
    with TemporaryDirectory() as folder:
        for package in packages:
            if "bundle" in package:
                bundle(package, Path(folder))
            else:
                unpack(package, download(package, Path(folder)))
    PACKAGES.write_text(json.dumps(packages, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
