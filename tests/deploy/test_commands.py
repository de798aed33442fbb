"""The commands and settings in the deployment files are ones that this version has."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer.main
from ruamel.yaml import YAML
from typer.core import TyperGroup

from tickwise.cli.main import app
from tickwise.config import PREFIX, Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "tickwise.service"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
COMPOSE = DEPLOY / "docker" / "compose.yaml"
_MAX_EXPOSURE = 45  # of 100, as systemd rates it
MANIFESTS = DEPLOY / "kubernetes" / "tickwise.yaml"


def _load(path: Path) -> list[Any]:
    return list(YAML(typ="safe").load_all(path))


def _services() -> dict[str, Any]:
    [compose] = _load(COMPOSE)
    return {name: service for name, service in compose["services"].items() if service["image"] == "tickwise"}


def _containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for manifest in _load(MANIFESTS):
        for container in manifest["spec"].get("template", {}).get("spec", {}).get("containers", ()):
            yield manifest["metadata"]["name"], container


def _commands() -> Iterator[tuple[str, list[str]]]:
    """Every call of tickwise: where it stands, and its arguments."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(UNIT)
    yield "systemd", shlex.split(unit["Service"]["ExecStart"])[1:]
    scripts: list[tuple[str, str]] = []
    for name, service in _services().items():
        if service.get("entrypoint") == ["sh", "-ec"]:
            scripts.append((f"compose {name}", service["command"][0]))
        else:
            yield f"compose {name}", service["command"]
        if "healthcheck" in service:
            yield f"compose {name} healthcheck", service["healthcheck"]["test"][2:]
    for name, container in _containers():
        if container.get("command") == ["sh", "-ec"]:
            scripts.append((f"kubernetes {name}", container["args"][0]))
        else:
            yield f"kubernetes {name}", container["args"]
    [default] = re.findall(r"^CMD (\[.*\])$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    yield "Dockerfile", json.loads(default)
    for where, script in scripts:
        for number, call in enumerate(re.findall(r"tickwise ([a-z][^;|]*)", script)):
            yield f"{where} {number}", shlex.split(call)


@pytest.mark.parametrize(("where", "words"), [pytest.param(*one, id=one[0]) for one in _commands()])
def test_commands_are_understood(where: str, words: list[str]) -> None:
    """Each command and each of its options exists."""
    command = typer.main.get_command(app)
    context = command.make_context(where, list(words))
    while isinstance(command, TyperGroup):
        _, found, left = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        command = found
        context = command.make_context(where, left, parent=context)


def test_variables_are_settings() -> None:
    """Each variable that a container gets is a setting, or would be ignored."""
    known = {f"{PREFIX}{one.name.upper()}" for one in fields(Settings)}
    given = {name for service in _services().values() for name in service["environment"]}
    given |= {entry["name"] for _, container in _containers() for entry in container.get("env", ())}
    assert f"{PREFIX}STORE" in given
    assert given <= known


def test_the_image_copies_all_that_the_package_is_built_of(tmp_path: Path) -> None:
    """A wheel can be built of the files that the image copies, and nothing else."""
    copies = re.findall(r"^COPY (?!--from)(.+) (\S+)$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    assert ("requirements.lock", "/tmp/") in copies  # noqa: S108  (a path of the image)
    for paths, target in copies:
        for path in paths.split():
            to = tmp_path / target.lstrip("/")
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                to = to / Path(path).name if target.endswith("/") else to
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, to)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=tmp_path / "src", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_user_of_the_image_is_the_one_of_the_manifests() -> None:
    """Kubernetes runs it as the number that the image makes."""
    text = DOCKERFILE.read_text("utf-8")
    [user] = re.findall(r"--uid (\d+)", text)
    pods = [
        manifest["spec"]["template"]["spec"] for manifest in _load(MANIFESTS) if "template" in manifest["spec"]
    ]
    assert {pod["securityContext"]["runAsUser"] for pod in pods} == {int(user)}


def test_mounts_and_services_lead_somewhere() -> None:
    """A Compose file mounts folders that exist; a Kubernetes service and a budget select pods that exist."""
    for service in _services().values():
        for mount in service.get("volumes", ()):
            assert (COMPOSE.parent / mount.split(":")[0]).resolve().is_dir()
        assert set(service["depends_on"]) <= {"store", "setup"}
    manifests = {(one["kind"], one["metadata"]["name"]): one["spec"] for one in _load(MANIFESTS)}
    labels = {
        name: spec["template"]["metadata"]["labels"]
        for (kind, name), spec in manifests.items()
        if kind == "Deployment"
    }
    assert manifests["Service", "tickwise-api"]["selector"] == labels["tickwise-api"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert manifests[kind, "tickwise-node"]["selector"]["matchLabels"] == labels["tickwise-node"]


@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_the_setup_can_be_repeated(where: str, tmp_path: Path) -> None:
    """It makes the tables and one admin token, which it prints once; started again, it changes nothing."""
    setup = (
        _services()["setup"]["command"] if where == "compose" else dict(_containers())["tickwise-setup"]["args"]
    )
    home = {
        "TICKWISE_STORE": f"sqlite:///{tmp_path}/store.db",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    first, again = (
        subprocess.run(
            ["/bin/sh", "-ec", *setup], cwd=tmp_path, env=home, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert len(re.findall(r"\btw_\w{20,}|\b[\w-]{40,}\b", first)) == 1
    assert not re.findall(r"\btw_\w{20,}|\b[\w-]{40,}\b", again)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """It finds no unknown setting, and the service little exposed; paths of the unit are those of this machine."""
    analyze = shutil.which("systemd-analyze")
    assert analyze, "install systemd: the unit is checked by systemd-analyze"
    program = Path(sys.executable).parent / "tickwise"
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace("/opt/tickwise/bin/tickwise", str(program)))
    for asked in (["verify"], ["security", "--offline=true", f"--threshold={_MAX_EXPOSURE}"]):
        done = subprocess.run([analyze, *asked, str(unit)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
