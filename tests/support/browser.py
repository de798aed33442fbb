"""A server with jobs to look at, and pages of its dashboard that note whatever goes wrong in them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page

from .tickwise_processes import Nest, Process

SUMMARY = re.compile("need you|needs you|as they should be")  # the title of the first page
PATIENCE = 30.0  # seconds: only against hanging
_LINK = re.compile(r"Dashboard: ((http://[^#\s]+)#\S+)")
_WICKED = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
JOBS = {
    "steady": ["schedule: {every: 1s}", "command: echo tick"],
    "rare": ['schedule: "0 3 * * *"', "timezone: Europe/Berlin", "command: echo done", "labels: {team: data}"],
    "sleeper": ['schedule: "0 4 * * *"', 'script: "echo begun; sleep 600"'],
    "mended": [
        'schedule: "0 5 * * *"',
        "params: {note: none}",
        "steps:",
        "  - {name: before, script: \"printf '\\\\033[32mprepared\\\\033[0m\\\\n'\"}",
        '  - {name: after, depends: before, script: "test -f mended.mark && echo mended at last"}',
    ],
    "wicked": [
        'schedule: "0 6 * * *"',
        f"description: {_WICKED!r}".replace("\\'", "''"),
        f"labels: {{team: {_WICKED!r}}}".replace("\\'", "''"),
        "params: {account: 9007199254740993123}",
        "script: |",
        "  #!/bin/sh",
        f"  cat <<'EOF'\n  {_WICKED}\n  EOF",
        f"  cat >&2 <<'EOF'\n  {_WICKED}\n  EOF",
        "  exit 1",
    ],
}


class Site:
    """A running server; what its pages complain about is kept."""

    def __init__(self, nest: Nest, folder: Path, *, jobs: Mapping[str, list[str]] = JOBS, **settings: Any) -> None:
        self.folder = folder
        self._nest = nest
        (folder / "jobs").mkdir()
        for name, lines in jobs.items():
            file = folder / "jobs" / f"{name}.yaml"
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(lines))
        given = {"poll": 0.1, "port": 0, "shutdown_grace": 1, **settings}
        (folder / "tickwise.toml").write_text(
            "\n".join(f"{name} = {json.dumps(value)}" for name, value in given.items())
        )
        self.process = self.serve()
        found = _LINK.search(self.process.output)
        assert found, self.process.output
        self.link, self.address = found.groups()
        self.client = httpx2.Client(base_url=self.address, timeout=PATIENCE)
        made = self.api("POST", "tokens", {"name": "ops", "role": "operator"}, admin=True)
        self.operator_token: str = made["secret"]
        self.client.headers["Authorization"] = f"Bearer {self.operator_token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.process.kill()

    def serve(self, *arguments: str) -> Process:
        self.process = self._nest.start(self.folder, "serve", "jobs", *arguments).up()
        return self.process

    @property
    def port(self) -> str:
        return str(httpx2.URL(self.address).port)

    @property
    def admin_token(self) -> str:
        return (self.folder / ".tickwise" / "admin.token").read_text().strip()

    def api(self, method: str, path: str, body: Any = None, *, admin: bool = False) -> Any:
        headers = {"Authorization": f"Bearer {self.admin_token}"} if admin else {}
        answer = self.client.request(method, f"api/v1/{path}", json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def run(self, schedule: str) -> str:
        """The id of a new run by hand."""
        return str(self.api("POST", f"schedules/{schedule}:trigger", {})["id"])


class Visitor:
    """Somebody with a browser; leaving fails if a page complained."""

    def __init__(self, browser: Browser, site: Site, *, width: int = 1280, height: int = 800) -> None:
        self.site = site
        self._complaints: list[str] = []
        self._expected: tuple[str, ...] = ()
        self._context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height}, timezone_id="Europe/Berlin"
        )
        self._context.set_default_timeout(PATIENCE * 1_000)
        self.page: Page = self._context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", self._failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for page in self._context.pages:  # no answer of a test comes to a page that closes
            page.unroute_all(behavior="ignoreErrors")
        self._context.close()
        wrong = [text for text in self._complaints if not any(part in text for part in self._expected)]
        assert kind is not None or not wrong, wrong

    def expects(self, *answers: int | str) -> None:
        """Answers that a browser notes as failures, and that this story is about."""
        self._expected = tuple(str(answer) for answer in answers)

    def open(self, place: str = "", *, token: str | None = None) -> Page:
        """A page of the dashboard, as whoever has this token; an operator if none is given."""
        self.sign_in(token or self.site.operator_token)
        self.page.goto(f"{self.site.address}#/{place}")
        return self.page

    def sign_in(self, token: str) -> None:
        """Begin a session: the browser has its cookie, and its pages the key."""
        begun = self._context.request.post(f"{self.site.address}session", data={"token": token})
        assert begun.status == 201, begun.text()
        self._context.add_init_script(f"localStorage.setItem('tickwise.session', {begun.json()['key']!r})")

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._complaints.append(message.text)

    def _failed(self, error: Error) -> None:
        self._complaints.append(str(error))


def write_job(page: Page, text: str) -> None:
    """Replace what the editor of job files holds, as somebody does who selects all and types."""
    page.get_by_role("textbox", name="Job file").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
