"""The judge can fail: each mistake of the table is found out, in a history that is clean without it."""

import re
from pathlib import Path

import pytest

from .mutations import MUTATIONS

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
SEEDS = 60  # that are tried at most; nearly all are found by the first


@pytest.mark.parametrize("mistake", MUTATIONS)
def test_a_mistake_is_found_out(mistake: str) -> None:
    """With the mistake a history is wrong in the way that the table says; without it nothing is."""
    mutation = MUTATIONS[mistake]
    shown = mutation.shown(range(mutation.seed, mutation.seed + SEEDS))
    assert shown, f"no seed from {mutation.seed} on shows it: see python -m tests.simulation --mutations"
    assert not shown.clean.findings, shown.clean.told()


def test_the_table_in_the_docs() -> None:
    """The page shows each mistake with what finds it, as they are here."""
    shown = re.findall(r"^\| (.+) \| (\w+): (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == [(name, one.kind.value, one.says) for name, one in MUTATIONS.items()]
