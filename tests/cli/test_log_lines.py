"""What a process logs: in which form, how much, and beside the application's own settings (A27)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import logging
{before}
from tickwise.log import LogLevel, LogSettings, configure_logging, get_logger
configure_logging(LogSettings({settings}))
logging.getLogger("shop").warning("from the app")
get_logger().info("from tickwise", role="ticker")
"""


def lines_of(settings: str, before: str = "") -> list[str]:
    script = SCRIPT.format(settings=settings, before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_json_lines_are_all_json() -> None:
    """With JSON, a line of a library or of the application is an object of the same form as ours."""
    app, own = map(json.loads, lines_of("as_json=True"))
    assert (app["event"], app["logger"], app["level"]) == ("from the app", "shop", "warning")
    assert (own["event"], own["role"], own["level"]) == ("from tickwise", "ticker", "info")
    assert {"timestamp"} <= app.keys() & own.keys()


def test_the_settings_of_the_application_stay() -> None:
    """What the application has set up before is not replaced."""
    app, own = lines_of("as_json=True", 'logging.basicConfig(format="MINE %(message)s")')
    assert app == "MINE from the app"
    assert json.loads(own)["event"] == "from tickwise"


@pytest.mark.parametrize(("level", "count"), [("DEBUG", 2), ("INFO", 2), ("WARNING", 1), ("ERROR", 0)])
def test_lines_that_are_less_severe_are_left_out(level: str, count: int) -> None:
    """The level holds for libraries, for the application and for Tickwise."""
    assert len(lines_of(f"level=LogLevel.{level}")) == count


def test_a_server_that_logs_json_prints_nothing_else(tmp_path: Path) -> None:
    """`serve --log-json` says as a line of its log where it listens; standard output stays empty."""
    tickwise = str(Path(sys.executable).with_name("tickwise"))
    (tmp_path / "jobs").mkdir(mode=0o700)
    (tmp_path / "jobs" / "hourly.yaml").write_text('schedule: "0 * * * *"\ncommand: "true"\n')
    server = subprocess.Popen(
        [tickwise, "serve", "jobs", "--port", "0", "--log-json"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        lines: list[dict[str, str]] = []
        while not lines or lines[-1]["event"] != "tickwise is running":
            lines.append(json.loads(server.stderr.readline()))
        assert lines[-1]["health"].endswith("/readyz")
        server.terminate()
        out, err = server.communicate()
        assert out == ""
        assert all(json.loads(line) for line in err.splitlines())
    finally:
        server.kill()
