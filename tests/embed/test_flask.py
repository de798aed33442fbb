"""The extension of Flask: jobs run in the app's context, with the app's settings."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, current_app, has_app_context

from tickwise import config
from tickwise.flask import FlaskTickwise


@pytest.fixture
def tw() -> Iterator[FlaskTickwise]:
    with FlaskTickwise() as tw:
        yield tw


@pytest.mark.parametrize("is_async", [False, True])
def test_a_job_runs_in_the_context_of_the_app(tw: FlaskTickwise, is_async: bool) -> None:
    """Functions in threads and on the loop: `current_app` is the app, and gone afterwards."""

    @tw.job(name="look")
    def look() -> list[Any]:
        return [current_app.name, threading.current_thread() is threading.main_thread()]

    async def look_async() -> list[Any]:
        return look()

    if is_async:
        tw.job(name="look_async")(look_async)
    app = Flask("shop")
    app.config["TICKWISE"] = {"store": "memory://", "concurrency": 2}
    tw.init_app(app)
    run = tw.enqueue("look_async" if is_async else "look")
    tw.drain()
    assert tw.runs.get(run.id).result == ["shop", False]
    assert not has_app_context()
    assert (tw.settings.concurrency, app.extensions["tickwise"]) == (2, tw)


def test_the_newest_app_counts(tw: FlaskTickwise) -> None:
    """Tests make an app each; equal settings change nothing, also when the store is open."""
    tw.job(name="look")(lambda: current_app.name)
    for name in ("first", "second"):
        app = Flask(name)
        app.config["TICKWISE"] = {"store": "memory://"}
        tw.init_app(app)
        run = tw.enqueue("look")
        tw.drain()
        assert tw.runs.get(run.id).result == name


def test_without_an_app_a_job_says_what_is_missing() -> None:
    """A worker that was started with the jobs alone, and not with the app."""
    with FlaskTickwise(store="memory://") as tw:
        tw.job(name="look")(lambda: None)
        run = tw.enqueue("look")
        tw.drain()
        assert "there is no Flask app yet: call init_app(app) before jobs run" in tw.runs.get(run.id).error


def test_flask_has_the_commands_of_tickwise(
    tw: FlaskTickwise, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`flask tickwise …` is `tickwise …` over the app's store, with its options and exit codes."""
    monkeypatch.setattr(config, "_projects", [])
    tw.job("0 3 * * *", name="nightly")(lambda: None)
    app = Flask("shop")
    app.config["TICKWISE"] = {"store": f"sqlite:///{tmp_path / 'shop.db'}"}
    tw.init_app(app)
    tw.store()
    result = app.test_cli_runner().invoke(args=["tickwise", "schedules", "list", "--json"])
    printed = result.output or capsys.readouterr().out
    assert (result.exit_code, [one["name"] for one in json.loads(printed)["items"]]) == (0, ["nightly"])
    assert app.test_cli_runner().invoke(args=["tickwise", "why", "nothing"]).exit_code == 2
