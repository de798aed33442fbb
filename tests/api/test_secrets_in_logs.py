"""No token is ever in a log: whatever fails, however it is logged."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tickwise.log import scrub

BREAK = "import tickwise.app\ntickwise.app.AsyncTickwise.upcoming = None\n"  # so that one request fails
LINK = re.compile(r"Dashboard: (http://[^/\s]+)/#/signin\?code=(\S+)")


@contextmanager
def serving(folder: Path, store: str, *arguments: str) -> Iterator[tuple[str, str | None, list[str]]]:
    """A server with a bug, in a process as users start it: its address, the code of its link and its log.

    A server that logs JSON prints no link: its address is in its log.
    """
    (folder / "sitecustomize.py").write_text(BREAK)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TICKWISE_")}
    path = os.pathsep.join([str(folder), inherited.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tickwise", "serve", "--port", "0", "--store", store, *arguments]
    logged: list[str] = []
    with subprocess.Popen(
        command, cwd=folder, env={**inherited, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            if arguments:
                for line in process.stderr:
                    logged.append(line)
                    if "tickwise is running" in line:
                        break
                yield json.loads(logged[-1])["address"], None, logged
            else:
                found = next(found for line in process.stdout if (found := LINK.search(line)))
                yield found[1], found[2], logged
        finally:
            process.terminate()
            logged += process.communicate()


@pytest.mark.parametrize("store", ["sqlite:///.tickwise/tickwise.db", "memory://"])
@pytest.mark.parametrize("options", [(), ("--log-json",)])
def test_a_request_that_fails_is_logged_without_its_token(
    tmp_path: Path, store: str, options: tuple[str, ...]
) -> None:
    """A 500 is in the log with its traceback and its id; no token, session or link is (B3)."""
    with serving(tmp_path, store, *options) as (address, code, lines):
        token = (tmp_path / ".tickwise" / "admin.token").read_text().strip()
        with httpx2.Client(base_url=address, timeout=60) as client:
            secrets = [token, "not-the-right-one", *([code] if code else [])]
            headers = {"Authorization": f"Bearer {token}"}
            if code:
                key = headers["Tickwise-Session-Key"] = client.post("/session", json={"code": code}).json()["key"]
                secrets += [key, str(next(iter(client.cookies.jar)).value)]
            failed = client.get("/api/v1/upcoming", headers=headers)
            assert failed.status_code == 500
            client.get("/api/v1/me", headers={"Authorization": "Bearer not-the-right-one"})
    logged = "".join(lines)
    assert failed.json()["id"] in logged
    assert "TypeError" in logged
    assert "Traceback" in logged
    for secret in secrets:
        assert secret not in logged.replace(f"code={code} ", "")  # the link is printed once
    assert ('"event": "request failed"' in logged) is bool(options)


TEXTS = [
    "Authorization: Bearer s3cr3t-token", "(b'authorization', b'Bearer s3cr3t-token')",
    "{'tickwise-session-key': 's3cr3t-token'}", "Cookie: tickwise-session-8484=s3cr3t-token",
    "(b'tickwise-session-key', b's3cr3t-token')", "http://localhost:8484/#/signin?code=s3cr3t-token",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_scrubbed(text: str) -> None:
    """Wherever a token stands in a line, the rest of the line stays."""
    assert "s3cr3t" not in scrub(f"before {text} after")
    assert scrub(f"before {text} after").startswith("before ")
    assert scrub("nothing secret: bearer of news") == "nothing secret: bearer of news"


def test_lines_of_libraries_are_scrubbed(capfd: pytest.CaptureFixture[str]) -> None:
    """What a library logs with a traceback has no token in it either."""
    script = (
        "import logging\nfrom tickwise import log\nlog.configure_logging(log.DEFAULT_LOG_SETTINGS)\n"
        "try:\n    raise ValueError('Bearer s3cr3t-token')\n"
        "except ValueError:\n    logging.getLogger('any').exception('sent %s', 'Bearer s3cr3t-token')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    shown = capfd.readouterr().err
    assert "ValueError" in shown
    assert "s3cr3t" not in shown
