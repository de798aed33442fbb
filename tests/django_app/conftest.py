"""A Django project in the process of the tests, on a database of its own."""

import os
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import django
import pymysql
import pytest
from django.core.management import call_command
from django.db import connections
from django.test import override_settings

from tickwise import config

from .databases import database

pymysql.version_info = (2, 2, 7, "final", 0)  # Django asks for mysqlclient, which speaks the same calls
pymysql.install_as_MySQLdb()
_folder = TemporaryDirectory()  # until the process ends: tests of other folders may come in between
_VARIABLES = {
    "DJANGO_SETTINGS_MODULE": "tests.django_app.project",
    "TICKWISE_TEST_DJANGO": f"sqlite:///{_folder.name}/project.db",
}
with patch.dict(os.environ, _VARIABLES):
    django.setup()  # here, since the modules of the tests import models

from tickwise.django import DjangoTickwise, tw  # noqa: E402
from tickwise.django.scheduler import PROJECT  # noqa: E402

config._projects.clear()  # they are no other tests'


@pytest.fixture(scope="package", autouse=True)
def project() -> Iterator[None]:
    """The project's settings are read, and its tables made."""
    with patch.dict(os.environ, _VARIABLES), patch.object(config, "_projects", [PROJECT]):
        call_command("migrate", run_syncdb=True, verbosity=0)
        yield
        tw.close()
        connections.close_all()


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def alias(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[str]:
    """A database of the project, of each kind, in which the store is."""
    kind = request.param
    fixtures = {"postgresql": "emptied_postgres", "mysql": "emptied_mysql"}
    url = request.getfixturevalue(fixtures[kind]) if kind in fixtures else f"sqlite:///{tmp_path / 'other.db'}"
    connections.settings[kind] = database(url)
    connections.configure_settings(connections.settings)
    yield kind
    connections[kind].close()
    del connections[kind], connections.settings[kind]


@pytest.fixture
def scheduler(alias: str, settings_of_tickwise: Any) -> Iterator[DjangoTickwise]:
    """A scheduler on that database."""
    settings_of_tickwise({"database": alias})
    with DjangoTickwise() as tw:
        yield tw


@pytest.fixture
def settings_of_tickwise() -> Iterator[Any]:
    blocks = []

    def use(values: dict[str, Any]) -> None:
        blocks.append(override_settings(TICKWISE=values))
        blocks[-1].enable()

    yield use
    for block in reversed(blocks):
        block.disable()
