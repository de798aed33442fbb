"""Which modules a program loads: what it does not use it does not pay for (docs/adr/0026)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVERS = {"asyncmy", "asyncpg", "psycopg", "pymongo", "redis", "sqlite3"}
HEAVY = {
    "fastapi", "httpx2", "numpy", "opentelemetry", "pydantic", "rich", "ruamel.yaml", "starlette", "structlog",
    "typer", "uvicorn", "watchfiles",
}  # fmt: skip
RUNTIME = {
    "tickwise.api", "tickwise.app.node", "tickwise.core.index", "tickwise.core.planner",
    "tickwise.runtime.execution", "tickwise.runtime.ticker", "tickwise.runtime.worker", "tickwise.sources.folder",
}  # fmt: skip
DECLARE = """
from tickwise import Tickwise
tw = Tickwise({url!r})
@tw.job("*/5 * * * *", retry={{"limit": 2}}, timezone="Europe/Berlin")
def refresh(table="orders"): pass
"""
RUN = """
import os, signal
from tickwise import Tickwise
tw = Tickwise({url!r})
@tw.job("*/5 * * * *")
def refresh(): os.kill(os.getpid(), signal.SIGINT)
tw.enqueue(refresh); tw.run()
"""
ENQUEUE = DECLARE + "tw.enqueue(refresh, {{'table': 'users'}}); tw.close()\n"


def loaded(program: str, folder: Path) -> set[str]:
    """The modules that a program has loaded when it ends."""
    program += "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("program", "url", "without"),
    [
        pytest.param(DECLARE, "memory://", HEAVY | DRIVERS | RUNTIME, id="declare"),
        pytest.param(DECLARE, "postgresql://localhost/x", HEAVY | DRIVERS | RUNTIME, id="for PostgreSQL"),
        pytest.param(DECLARE, "mysql://localhost/x", HEAVY | DRIVERS | RUNTIME, id="for MySQL"),
        pytest.param(ENQUEUE, "sqlite:///t.db", HEAVY | RUNTIME | DRIVERS - {"sqlite3"}, id="enqueue on SQLite"),
        pytest.param(RUN, "sqlite:///t.db", HEAVY - {"rich", "structlog"}, id="run on SQLite"),  # it logs
        pytest.param(
            "import tickwise.engines.remote",
            "",
            HEAVY | DRIVERS | {"tickwise.app", "tickwise.sources", "tickwise.stores.sql"},
            id="far side",
        ),
        pytest.param("import tickwise.core.cron", "", HEAVY | DRIVERS | RUNTIME, id="cron alone"),
    ],
)
def test_a_program_loads_only_what_it_uses(program: str, url: str, without: set[str], tmp_path: Path) -> None:
    """Weight: a program that only declares or enqueues loads no runtime, NumPy, server or other driver."""
    assert not loaded(program.format(url=url), tmp_path) & without
