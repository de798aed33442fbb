"""The judge can fail: each mistake of the table is found out by its seed, which finds nothing else."""

import re
from functools import cache
from pathlib import Path

import pytest

from tickwise.core.audit import AuditFinding
from tickwise.core.reasons import Reason

from .history import simulate
from .mutations import MUTATIONS

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


@cache
def unspoiled(seed: int) -> tuple[AuditFinding, ...]:
    return simulate(seed).findings


@pytest.mark.parametrize("mistake", MUTATIONS)
def test_a_mistake_is_found_out(mistake: str) -> None:
    """With the mistake the seed's history is wrong in the way that the table says; without it nothing is."""
    mutation = MUTATIONS[mistake]
    assert not unspoiled(mutation.seed)
    with mutation.made():
        history = simulate(mutation.seed)
    assert mutation.kind in {finding.kind for finding in history.findings}, history.told()
    assert repr(Reason.BROKEN) not in history.told()  # the patch itself would be the mistake


def test_the_table_in_the_docs() -> None:
    """The page shows each mistake with its seed and what finds it, as they are here."""
    shown = re.findall(r"^\| (.+) \| (\d+) \| (\w+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == [(name, str(one.seed), one.kind.value) for name, one in MUTATIONS.items()]
