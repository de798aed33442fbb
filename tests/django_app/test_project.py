"""The project's scheduler: its settings, its jobs, its command, its admin."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connections
from django.test import Client

from tickwise import InputError
from tickwise.django import database, tw

ROOT = Path(__file__).parents[2]


def test_jobs_of_installed_apps_are_found_and_the_tables_are_made_by_migrate() -> None:
    """`jobs.py` and, with our backend, `tasks.py` of each app are imported; nothing else is needed."""
    assert {"count_orders", "ship", "tests.django_app.shop.tasks.send_mail"} <= tw.declared.names
    assert tw.settings.origins["store"] == tw.settings.origins["concurrency"] == "settings.TICKWISE"
    assert tw.settings.concurrency == 3
    assert tw.schedules.get("count_orders").means == "At 03:00, every day, UTC"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (
            {"HOST": "db", "PORT": "5433", "USER": "a b", "PASSWORD": "p@ss/word", "NAME": "shop"},
            "postgresql://a%20b:p%40ss%2Fword@db:5433/shop",
        ),
        ({"HOST": "/run/pg", "NAME": "shop"}, "postgresql:///shop?host=%2Frun%2Fpg"),
        ({"HOST": "::1", "NAME": "shop", "OPTIONS": {"sslmode": "require", "pool": True}}, "postgresql://[::1]/shop?sslmode=require"),
        ({"ENGINE": "mysql", "HOST": "/run/my", "USER": "u", "NAME": "shop"}, "mysql://u@/shop?unix_socket=%2Frun%2Fmy"),
        ({"ENGINE": "mysql", "HOST": "db", "NAME": "s", "OPTIONS": {"ssl": {"ca": "/ca"}}}, "mysql://db/s?ssl_ca=%2Fca"),
        ({"ENGINE": "sqlite3", "NAME": "/a b/x.db"}, "sqlite:////a%20b/x.db"),
        ({"ENGINE": "sqlite3", "NAME": ":memory:"}, "memory://"),
    ],
)  # fmt: skip
def test_the_store_is_the_projects_database(given: dict[str, Any], url: str) -> None:
    """The URL of the store is that of `DATABASES`, with what its driver understands."""
    engine = f"django.db.backends.{given.pop('ENGINE', 'postgresql')}"
    connections.settings["some"] = {"ENGINE": engine, **given}
    connections.configure_settings(connections.settings)
    try:
        assert database.database_url("some") == url
    finally:
        del connections["some"], connections.settings["some"]


def test_a_database_that_cannot_be_a_store_is_refused_with_what_to_do() -> None:
    """A service file is not read: the setting that helps is named."""
    connections.settings["some"] = {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {"service": "x"}}
    connections.configure_settings(connections.settings)
    try:
        with pytest.raises(InputError, match=r"described by a service file: set TICKWISE\['store'\]"):
            database.database_url("some")
    finally:
        del connections["some"], connections.settings["some"]


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from django.core.management import execute_from_command_line as e; e(sys.argv)"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, env={**os.environ, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_manage_py_has_the_commands_of_tickwise_over_the_project() -> None:
    """`manage.py tickwise …` reads the project's store and settings, and has the same exit codes."""
    tw.store()
    listed = manage("tickwise", "schedules", "list", "--json", "--settings", "tests.django_app.project")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [one["name"] for one in json.loads(listed.stdout)["items"]] == ["count_orders"]
    shown = json.loads(manage("tickwise", "config", "show", "--json").stdout)
    assert shown["concurrency"] == {**shown["concurrency"], "value": 3, "origin": "settings.TICKWISE"}
    missing = manage("tickwise", "why", "nothing")
    assert (missing.returncode, "nothing" in missing.stderr) == (2, True)


def test_call_command_passes_arguments_on(capfd: pytest.CaptureFixture[str]) -> None:
    """`call_command("tickwise", …)` is the same command."""
    with pytest.raises(SystemExit) as end:
        call_command("tickwise", "schedules", "list", "--json")
    assert end.value.code == 0
    assert "count_orders" in capfd.readouterr().out


@pytest.fixture
def browser() -> Client:
    User.objects.all().delete()
    User.objects.create_superuser("ada", password="x")  # noqa: S106
    client = Client()
    client.login(username="ada", password="x")  # noqa: S106
    return client


def test_the_admin_lists_schedules_and_runs_and_says_why(browser: Client) -> None:
    """Read only, with a link to why; texts of the store are escaped."""
    tw.enqueue("ship", {"order": 1})
    tw.schedules.pause("count_orders", reason="<b>stocktaking</b>")
    schedules = browser.get("/admin/tickwise/listedschedule/").content.decode()
    assert "count_orders" in schedules
    assert "&lt;b&gt;stocktaking" in schedules
    assert "<b>stocktaking" not in schedules
    tw.schedules.resume("count_orders")
    runs = browser.get("/admin/tickwise/listedrun/?job=ship").content.decode()
    assert "queued" in runs
    assert "Why?" in schedules
    assert (
        "no slot of it has been due"
        in browser.get("/admin/tickwise/listedschedule/count_orders/why/").content.decode()
    )
    assert browser.get("/admin/tickwise/listedschedule/nothing/why/").status_code == 404
    assert browser.get("/admin/tickwise/listedschedule/add/").status_code == 403
    assert browser.post("/admin/tickwise/listedrun/").status_code == 200


def test_the_admin_needs_the_permission_to_view() -> None:
    """Staff without the permission see neither the lists nor why."""
    User.objects.all().delete()
    user = User.objects.create_user("bob", password="x", is_staff=True)  # noqa: S106
    client = Client()
    client.login(username="bob", password="x")  # noqa: S106
    lists = ["/admin/tickwise/listedschedule/", "/admin/tickwise/listedrun/"]
    pages = [*lists, "/admin/tickwise/listedschedule/count_orders/why/"]
    assert [client.get(page).status_code for page in pages] == [403] * 3
    user.user_permissions.add(Permission.objects.get(codename="view_listedschedule"))
    assert [client.get(page).status_code for page in pages] == [200, 403, 200]


def test_dumpdata_finds_no_table_of_ours_missing() -> None:
    """The models of the admin have no tables, and nobody looks for them."""
    call_command("dumpdata", "tickwise", verbosity=0)
