"""Tickwise as an extension of Flask: each job runs in the app's context.

tw = FlaskTickwise()  # in a module of jobs

def create_app():
    app = Flask(__name__)
    tw.init_app(app)  # reads app.config["TICKWISE"], and adds the commands of `flask tickwise`
"""

from collections.abc import Iterator
from typing import Any

import click
from flask import Flask

from .app import Tickwise
from .cli.main import main
from .cli.project import use_app
from .config import ProjectSettings, use_project
from .core.errors import ConflictError
from .runtime.context import Run

__all__ = ["FlaskTickwise"]
_SETTING = "TICKWISE"
_AS_THEY_ARE = {"ignore_unknown_options": True, "help_option_names": []}  # the arguments are passed on


class FlaskTickwise(Tickwise):
    """A scheduler of a Flask app, which it may get later (`init_app`)."""

    def __init__(self, app: Flask | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._app: Flask | None = None
        self._given: dict[str, Any] = {}
        self.middleware(self._in_app_context)
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Run jobs in the context of this app from now on, with the settings of its config."""
        self._app = app
        settings = dict(app.config.get(_SETTING, {}))
        if settings != self._given:
            self.configure(**settings)
            self._given = settings
        app.extensions["tickwise"] = self
        app.cli.add_command(self._command())

    def _command(self) -> click.Command:
        @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
        def run(arguments: tuple[str, ...]) -> None:
            """Tickwise: serve, worker, schedules, runs, why … as `tickwise --help` lists them."""
            use_project(ProjectSettings(_SETTING, lambda: self._given))
            use_app(self.awaited)
            main(arguments, "flask tickwise")

        return click.command("tickwise", context_settings=_AS_THEY_ARE)(run)

    def _in_app_context(self, _run: Run) -> Iterator[None]:
        if self._app is None:
            raise ConflictError("there is no Flask app yet: call init_app(app) before jobs run")
        with self._app.app_context():
            yield
