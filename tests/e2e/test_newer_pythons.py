"""The package on each newer Python of this machine, with Django 6, which needs one.

Each gets a virtual environment with the pinned packages; tests that depend on the version of Python run in it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
_TESTS = """
    tests/django_app tests/embed tests/app/test_enqueue.py tests/stores/test_statements.py
    tests/stores/test_sqlite_file.py tests/core/test_codec.py tests/core/cron/test_zone.py
    tests/sources/test_calendars.py
""".split()
_VERSION = "import sys; print(*sys.version_info[:2], sep='.')"


def _programs() -> Iterator[Path]:
    """What may be a Python, on PATH and of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for folder in [*map(Path, os.get_exec_path()), *sorted(pyenv.glob("versions/*/bin"))]:
        yield from sorted(folder.glob("python3.*[0-9]"))


def _newer_pythons() -> dict[str, Path]:
    """By version; this one if there is none."""
    found: dict[str, Path] = {}
    for program in _programs():
        done = subprocess.run([program, "-c", _VERSION], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        if done.returncode == 0 and tuple(map(int, version.split("."))) > sys.version_info[:2]:
            found.setdefault(version, program)
    return found or {"{}.{}".format(*sys.version_info[:2]): Path(sys.executable)}


@pytest.mark.parametrize(("version", "program"), _newer_pythons().items())
def test_the_package_on_this_python(version: str, program: Path, tmp_path: Path) -> None:
    """Installed with its pins, it passes its tests there; Django is the newest that this Python may have."""
    subprocess.run([program, "-m", "venv", tmp_path / "env"], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    for wanted in (["--requirement", "requirements-dev.lock"], ["--editable", "."]):
        subprocess.run([python, *_PIP, *wanted], cwd=ROOT, check=True, capture_output=True)
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_TESTS]
    done = subprocess.run(tests, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    django = [python, "-c", "import django; print(django.VERSION[0])"]
    said = subprocess.run(django, capture_output=True, text=True, check=True).stdout
    assert said == ("5\n" if version == "3.11" else "6\n")
