"""The job files that the README shows."""

import re
from pathlib import Path

from tickwise.sources.yaml import read_text

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_what_the_readme_shows_can_be_used() -> None:
    """Every YAML block of the README is a job without a mistake."""
    blocks = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        jobs, errors = read_text(block, "README.md", "nightly")
        assert (len(jobs), errors) == (1, [])
