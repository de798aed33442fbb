"""Pipelines whose steps hand values on, through a worker and a store (S72, S73, S76)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise

from ..support.app import patiently
from .test_hidden_values import SECRET, echo

LOAD = """
test "$TICKWISE_ITEM" = a -o -e mended || exit
echo "size=1$TICKWISE_ITEM" >> $TICKWISE_OUTPUT
"""
PIPELINE: dict[str, Any] = {
    "steps": [
        {"name": "list", "script": "echo listed; echo '{\"files\": [\"a\", \"b\"], \"rows\": 2}'"},
        {
            "name": "load",
            "depends": "list",
            "foreach": "${steps.list.outputs.files}",
            "script": LOAD,
        },
        {
            "name": "tell",
            "depends": "load",
            "command": ["echo", "${steps.list.outputs.rows}", "${steps.load.outputs.size}"],
        },
    ],
}  # fmt: skip


async def kept(app: AsyncTickwise, run: str) -> str:
    """All that is kept of a run, as one text."""
    store = await app.store()
    log = await store.insights.log(run, limit=1_000)
    return repr((await store.insights.run(run), await store.insights.steps(run), log.items))


@patiently
async def test_a_retry_has_the_outputs_of_before(tmp_path: Path) -> None:
    """S72, S73: what failed is executed again, with what was handed on before; the rest is not repeated."""
    app = AsyncTickwise(f"sqlite:///{tmp_path}/t.db", allow_commands=True)
    await app.schedules.add("shops", schedule="@yearly", dir=str(tmp_path), **PIPELINE)
    run = await app.enqueue("shops")
    await app.drain()
    failed = await app.runs.get(run.id)
    assert (failed.state, failed.error.splitlines()[0]) == ("failed", "step load: step load[1]: exit code 1")
    (tmp_path / "mended").touch()
    await app.runs.retry(run.id)
    await app.drain()
    assert (await app.runs.get(run.id)).state == "succeeded"
    store = await app.store()
    log = (await store.insights.log(run.id, limit=1_000)).items
    assert [part.text for part in log if part.step == "list" and part.text == "listed\n"] == ["listed\n"]
    assert [part.text for part in log if part.step == "tell"] == ['2 ["1a", "1b"]\n']
    steps = {step.name: step.outputs and json.loads(step.outputs) for step in await store.insights.steps(run.id)}
    assert steps == {
        "list": {"files": ["a", "b"], "rows": 2}, "load": {"size": ["1a", "1b"]}, "load[0]": {"size": "1a"},
        "load[1]": {"size": "1b"}, "tell": "",
    }  # fmt: skip
    await app.close()


@patiently
async def test_secrets_by_name(tmp_path: Path) -> None:
    """S76: a secret and a file of variables reach the program, and are kept nowhere: in outputs neither."""
    (tmp_path / "key").write_text(f"{SECRET}\n")
    (tmp_path / "vars").write_text("SHOP_KEY=opensesame\n")
    app = AsyncTickwise("memory://", allow_commands=True, secrets={"key": f"file:{tmp_path}/key"})
    script = 'echo "$KEY $SHOP_KEY"; echo "{\\"key\\": \\"<$KEY>\\"}"'
    steps: list[dict[str, Any]] = [
        {"name": "use", "script": script, "env": {"KEY": "${secret:key}"}},
        {"name": "see", "depends": "use", "command": ["echo", "${steps.use.outputs.key}"]},
    ]
    await app.schedules.add("job", schedule="@yearly", env_file="vars", dir=str(tmp_path), steps=steps)
    run = await app.enqueue("job")
    await app.drain()
    assert (await app.runs.get(run.id)).state == "succeeded"
    text = await kept(app, run.id)
    assert SECRET not in text
    assert "opensesame" not in text
    assert "(hidden) (hidden)" in text
    assert "step='see', stream='stdout', text='<(hidden)>" in text
    await app.close()


@patiently
async def test_a_secret_in_a_header() -> None:
    """S76: a request is sent with the secret, and its answer is kept without it."""
    async with echo() as url, AsyncTickwise("memory://", addresses="loopback", secrets={"k": "env:K"}) as app:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("K", SECRET)
            request = {"url": url, "method": "POST", "headers": {"X-Me": "as ${secret:k}"}, "body": "x"}
            await app.schedules.add("job", schedule="@yearly", http=request)
            run = await app.enqueue("job")
            await app.drain()
        text = await kept(app, run.id)
        assert "as (hidden)" in text
        assert SECRET not in text


@patiently
async def test_a_secret_that_is_not_to_be_had() -> None:
    """S76: the attempt fails before any step begins, and says what to add to the settings."""
    app = AsyncTickwise("memory://", allow_commands=True)
    await app.schedules.add("job", schedule="@yearly", command="true", env={"KEY": "${secret:key}"})
    run = await app.enqueue("job")
    await app.drain()
    assert "this worker has no secret key: add it to [secrets]" in (await app.runs.get(run.id)).error
    await app.close()
