"""The wheel, built of this tree's source distribution, installed where nothing else is, and used (ADR 56)."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, version
from pathlib import Path

import pytest

from tools import smoke
from tools.footprint import LIGHT, packages

ROOT = Path(__file__).parents[1]
_PIP_OPTIONS = ["--no-deps", "--no-index", "--no-compile"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of the source distribution, as an index or a packager does, without an environment for the builder."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t"]
    subprocess.run([*build, "sdist"], cwd=ROOT, check=True)
    [source] = folder.glob("*.tar.gz")
    with tarfile.open(source) as files:
        files.extractall(folder, filter="data")
    subprocess.run([*build, "wheel"], cwd=folder / source.name.removesuffix(".tar.gz"), check=True)
    [built] = folder.glob("*.whl")
    return built


def environment(folder: Path, wheel: Path, installed: Iterable[Distribution]) -> Path:
    """A virtual environment with the wheel, and links to packages that are installed here; its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", *_PIP_OPTIONS, wheel],
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    [site] = folder.glob("lib/python*/site-packages")
    for package in installed:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(Path(str(package.locate_file(name))))
    return python


def test_what_pip_installs_is_enough(wheel: Path, tmp_path: Path) -> None:
    """With the wheel's dependencies and nothing else, jobs run on SQLite, and `tickwise serve` answers."""
    python = environment(tmp_path / "env", wheel, packages(["tickwise"]).values())
    smoke.check_program(python, tmp_path)
    smoke.check_commands(python, tmp_path, version("tickwise"))
    [schema] = (tmp_path / "env").glob("lib/python*/site-packages/tickwise/job.schema.json")
    printed = subprocess.run([python, "-m", "tickwise", "schema"], capture_output=True, check=True).stdout
    assert json.loads(schema.read_text()) == json.loads(printed)


_MISSING_PACKAGES = """
from tickwise import InputError, Tickwise
with Tickwise("memory://") as tw:
    for wanted in (tw.upcoming, lambda: tw.start("."), lambda: __import__("tickwise.asgi")):
        try:
            wanted()
        except InputError as error:
            print(error)
"""


def test_functions_on_sqlite_need_two_packages(wheel: Path, tmp_path: Path) -> None:
    """Where only those are, a program declares, enqueues and runs; else it and a command say what is missing."""
    python = environment(tmp_path / "env", wheel, packages(LIGHT).values())
    smoke.check_program(python, tmp_path)
    done = subprocess.run([python, "-m", "tickwise"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2, "error: typer is not installed: pip install 'tickwise[server]'\n"
    )  # fmt: skip
    told = subprocess.run([python, "-c", _MISSING_PACKAGES], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [
        f"{wanted} needs {package}, which is not installed: pip install 'tickwise[server]'"
        for wanted, package in {
            "the list of what is upcoming": "numpy", "a folder of job files": "ruamel", "the API": "fastapi"
        }.items()
    ]  # fmt: skip


def test_the_base_is_the_light_part_and_the_server() -> None:
    """`tickwise[server]` is what the base has beyond the light part, written twice."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    light = [text for text in project["dependencies"] if text.startswith(LIGHT)]
    assert len(light) == len(LIGHT)
    assert sorted(project["dependencies"]) == sorted(light + project["optional-dependencies"]["server"])
