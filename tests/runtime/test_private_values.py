"""Secrets by name and files of variables: read on the worker, used, and kept nowhere (S76)."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tickwise.core.definition import JobDefinition
from tickwise.core.errors import InputError
from tickwise.core.read_only_dict import ReadOnlyDict
from tickwise.runtime.env_file import read_env_file
from tickwise.runtime.private_values import private_values
from tickwise.runtime.secret_providers import SecretProviders, read_secret_places


def secrets(places: Mapping[str, str], *names: str) -> dict[str, str]:
    return asyncio.run(SecretProviders(read_secret_places(places)).values(names))


def test_where_secrets_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S76: a variable, a file and a program; one line end is taken off the text of the last two."""
    monkeypatch.setenv("DB_PASSWORD", "from env\n")
    (tmp_path / "key").write_text("from file\n")
    places = {"a": "env:DB_PASSWORD", "b": f"file:{tmp_path}/key", "c": "command:printf '%s\n\n' 'from program'"}
    assert secrets(places, "a", "b", "c") == {"a": "from env\n", "b": "from file", "c": "from program\n"}
    assert secrets(places) == {}


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("env:NO_SUCH", "the secret db (env) is not to be had: this worker has no variable NO_SUCH"),
        (
            "file:/no/such",
            "the secret db (file) is not to be had: [Errno 2] No such file or directory: '/no/such'",
        ),
        ("file:/", "the secret db (file) is not to be had: [Errno 21] Is a directory: '/'"),
        ("file:/dev/zero", "the secret db (file) is not to be had: it has more than 65,536 bytes"),
        ("file:/dev/null", "the secret db (file) is empty"),
        ("command:false", "the secret db (command) is not to be had: its program ended with exit code 1"),
        ("command:no-such-program", "No such file or directory"),
        ("command:printf '\\377'", "can't decode byte"),
        ("command:'", "No closing quotation"),
    ],
)
def test_a_secret_that_is_not_to_be_had(place: str, problem: str) -> None:
    """S76: the error names the secret and its provider, and never a value."""
    with pytest.raises(InputError) as error:
        secrets({"db": place}, "db")
    assert problem in str(error.value)


def test_a_secret_that_the_worker_does_not_know() -> None:
    """S76: a name that is not in the settings is refused with the nearest, and with the line to add."""
    with pytest.raises(
        InputError, match=r"no secret db-pas .did you mean db-pass.*add it to .secrets.*env:DB_PAS"
    ):
        secrets({"db-pass": "env:A"}, "db-pas")


@pytest.mark.parametrize(
    ("places", "problem"),
    [
        ("env:A", "write a table"),
        ({"a b": "env:A"}, "'a b' cannot be the name of a secret"),
        ({"db": "hunter2"}, "db must begin with env:, file: or command:"),
        ({"db": "env:"}, "db must begin with env:, file: or command:"),
        ({"db": 3}, "db must begin with env:, file: or command:"),
    ],
)
def test_wrong_settings(places: Any, problem: str) -> None:
    """S76: a table that cannot be right is refused. What it says may be a secret, and is not told."""
    with pytest.raises(InputError) as error:
        read_secret_places(places)
    assert problem in str(error.value)
    assert "hunter2" not in str(error.value)


def test_a_file_of_variables(tmp_path: Path) -> None:
    """Lines NAME=value; comments, quotes and `export` are understood, and nothing is evaluated."""
    (tmp_path / ".env").write_text(
        "# a comment\n\nA=1\n export B = two words \nC='$A \\n'\nD=\"x#y\"\nE=\nF='\nA=3\n", encoding="utf-8-sig"
    )
    found = {"A": "3", "B": "two words", "C": "$A \\n", "D": "x#y", "E": "", "F": "'"}
    assert read_env_file(".env", str(tmp_path)) == read_env_file(str(tmp_path / ".env"), None) == found


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"A=1\nhunter2\n", r"line 2: 'hunter2' is not NAME=value"),
        (b"A=1\n2B=hunter2\n", r"line 2: '2B' is not NAME=value"),
        (b"A=\0", r"line 1: 'A' is not NAME=value"),
        (b"A=\xff", "is not UTF-8 text"),
        (b"A" * 1_048_577, "has more than 1,048,576 bytes"),
    ],
)
def test_a_bad_file_of_variables(tmp_path: Path, data: bytes, problem: str) -> None:
    """The error names the file and the line, and no value."""
    (tmp_path / "vars").write_bytes(data)
    with pytest.raises(InputError, match=problem) as error:
        read_env_file("vars", str(tmp_path))
    assert f"env_file {tmp_path}/vars" in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A file of variables that cannot be read is an error, not an empty one."""
    with pytest.raises(InputError, match=r"env_file .*none cannot be read on this worker: No such file"):
        asyncio.run(private_values(JobDefinition("a", env_file="none", dir=str(tmp_path)), SecretProviders({})))


def test_only_what_a_job_names_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """S76: a secret that a definition does not name is not looked for, even if it would not be found."""
    monkeypatch.setitem(os.environ, "A", "found")
    job = JobDefinition("a", env=ReadOnlyDict({"X": "Bearer ${secret:a}", "Y": "${params.z}"}))
    found = asyncio.run(private_values(job, SecretProviders({"a": "env:A", "b": "env:NO_SUCH"})))
    assert found.secrets == {"a": "found"}
    assert found.hidden == {"found"}
