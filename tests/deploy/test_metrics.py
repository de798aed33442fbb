"""The alerts and the Grafana dashboard are about metrics that exist."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ..support.api import api

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "tickwise-rules.yaml"
DASHBOARD = DEPLOY / "grafana" / "tickwise.json"
SELECTOR = re.compile(r"\b(tickwise_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)=~?"([^"]*)"')


@pytest.fixture(scope="module")
def scraped() -> dict[str, dict[str, set[str]]]:
    """Every sample of a scrape: its name, and the values of its labels."""

    async def scrape() -> str:
        async with api() as here:
            await here.tickwise.schedules.add("one", schedule="@daily", command="true")
            await here.tickwise.enqueue("one")
            answer = await here.client.get("/metrics")
            assert answer.status_code == 200
            return answer.text

    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(asyncio.run(scrape())):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


@pytest.mark.parametrize("file", [RULES, DASHBOARD], ids=lambda file: file.name)
def test_every_metric_and_label_exists(file: Path, scraped: dict[str, dict[str, set[str]]]) -> None:
    """An expression that names a metric, a label or a value that nobody has would never match."""
    text = file.read_text("utf-8").replace('\\"', '"')
    used = SELECTOR.findall(text)
    assert len(used) >= 10
    for name, matchers in used:
        assert name in scraped, name
        for label, values in MATCHER.findall(matchers):
            assert set(values.split("|")) <= scraped[name][label], f"{name}{{{matchers}}}"


@pytest.mark.parametrize(
    "arguments", [["rules", str(RULES)], ["config", "--syntax-only", str(RULES.with_name("scrape.yaml"))]]
)
def test_prometheus_accepts_the_files(arguments: list[str]) -> None:
    """`promtool` reads every expression and template of the alerts, and the part of the configuration."""
    promtool = shutil.which("promtool")
    assert promtool, "install prometheus: its promtool checks the alerts"
    done = subprocess.run([promtool, "check", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_panels_do_not_overlap() -> None:
    """Each panel of the dashboard has a number and a place of its own."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
