"""Workflows of GitHub: their schedules and scripts; what is GitHub's own is named."""

from tickwise.importers.github_actions import read
from tickwise.importers.model import ReadOptions

from .support import files_of

WORKFLOW = """
name: Nightly build
on:
  push: {}
  schedule:
    - cron: "17 3 * * *"
    - cron: "17 3 * * 1"
env: {A: 1, B: "${{ secrets.B }}"}
jobs:
  build:
    steps:
      - uses: actions/checkout@v4
      - run: |
          make
          make test
      - {run: ./notify, shell: sh, env: {C: true}}
"""


def test_scripts_become_steps() -> None:
    """Each `run` is a script with GitHub's shell, after the one before it."""
    job = files_of(read({".github/workflows/night.yml": WORKFLOW}, ReadOptions()))[0]
    assert job.imported.name == "Nightly-build"
    assert job.imported.fields["env"] == {"A": "1"}
    assert job.imported.fields["steps"] == [
        {"name": "build-2", "script": "#!/bin/bash\nset -e\nmake\nmake test\n"},
        {"name": "build-3", "script": "#!/bin/sh\nset -e\n./notify\n", "depends": "build-2", "env": {"C": "true"}},
    ]
    assert any("actions/checkout" in note for note in job.imported.notes)


def test_a_second_that_two_entries_name_is_one_slot() -> None:
    """GitHub starts two runs then, Tickwise one (S49), and the proof says so."""
    job = files_of(read({"night.yml": WORKFLOW}, ReadOptions()))[0]
    assert job.proof is not None
    assert {each.change for each in job.proof.differences} == {"two entries name one second, which is one slot"}
    assert len(job.proof.differences) == 52


def test_workflows_without_a_schedule_are_passed_over() -> None:
    """One that runs on pushes only is no job."""
    assert read({"push.yml": "on: push\njobs: {}\n"}, ReadOptions()).jobs == []
