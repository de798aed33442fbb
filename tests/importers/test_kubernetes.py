"""CronJob manifests: policies, deadlines and commands go along, and their cron law is Kubernetes'."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core.cron import parse
from tickwise.core.cron.zone import zone
from tickwise.core.errors import InputError
from tickwise.importers.cron_text import to_tickwise
from tickwise.importers.kubernetes import read
from tickwise.importers.model import ReadOptions
from tickwise.importers.proof import prove
from tickwise.importers.wall_clock import CRONITER, KUBERNETES, CronDialect, WallRules, read_fields

from .support import START, files_of
from .test_wall_clock import fields

MANIFEST = """
kind: ConfigMap
---
kind: List
items:
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: report}
  spec:
    schedule: "30 2 */2 * 1"
    timeZone: Europe/Berlin
    concurrencyPolicy: Replace
    suspend: true
    jobTemplate:
      spec:
        backoffLimit: 2
        activeDeadlineSeconds: 3600
        template:
          spec:
            volumes: [{name: x}]
            containers:
            - {name: main, image: "reports:5", command: [report], args: [--day],
               env: [{name: A, value: "1"}, {name: S, valueFrom: {}}]}
"""


def test_a_manifest_becomes_a_job() -> None:
    """Zone, policies, retries, limit, command and variables; what has no field is named."""
    job = files_of(read({"cj.yaml": MANIFEST}, ReadOptions()))[0]
    assert job.imported.fields == {
        "schedule": "30 2 1-31/2 * 1",  # Kubernetes asks for either: */2 is no star for it
        "timezone": "Europe/Berlin",
        "catchup": "once",
        "overlap": "replace",
        "enabled": False,
        "retry": {"limit": 2, "interval": "10s", "max_interval": "6m"},
        "timeout": "1h",
        "command": ["report", "--day"],
        "env": {"A": "1"},
    }
    assert [
        word for word in ("volumes", "reports:5", "variable S") if any(word in n for n in job.imported.notes)
    ] == [
        "volumes",
        "reports:5",
        "variable S",
    ]


def test_a_deadline_is_the_grace() -> None:
    """StartingDeadlineSeconds is how late a run may start; nothing older is caught up."""
    text = "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@hourly', startingDeadlineSeconds: 90}\n"
    found = files_of(read({"cj.yaml": text}, ReadOptions()))[0].imported.fields
    assert (found["catchup"], found["grace"], found["overlap"]) == ("skip", "1m30s", "allow")


def test_other_objects_are_passed_over_and_bad_files_named() -> None:
    """A template that is no YAML hides no good file."""
    found = read({"a.yaml": "{{ .Values.x }}: [", "b.yaml": "kind: Pod\n", "c.yaml": MANIFEST}, ReadOptions())
    assert ([job.name for job in found.jobs], [each.place for each in found.refused]) == (["report"], ["a.yaml"])


@settings(max_examples=30)
@given(
    st.tuples(*map(fields, ("minute", "hour", "day", "month")), st.sampled_from(["*", "1", "*/2", "mon-fri"])),
    st.sampled_from([KUBERNETES, CRONITER]),
)
def test_rewritten_texts_fire_as_before(entry: tuple[str, ...], dialect: CronDialect) -> None:
    """Where days are joined otherwise than here, the text is written so that it means the same."""
    try:
        text, named = to_tickwise(" ".join(entry), dialect)
        times = parse(text, "UTC")
    except InputError:
        return
    rules = WallRules(read_fields(named.split(), dialect), zone("UTC").tzinfo)
    assert not prove(rules, times, START, START + 20 * 86_400).differences
