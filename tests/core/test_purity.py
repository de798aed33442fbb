"""The core neither reads a clock nor draws lots nor opens files, and names what it depends on downward only."""

import ast
from pathlib import Path

import pytest

import tickwise.core

CORE = Path(tickwise.core.__file__).parent
IMPURE = {"now", "today", "utcnow", "time", "monotonic", "perf_counter", "random", "urandom", "print", "input"}
READS_ZONE_DATA = {"zone.py"}  # files of the tzdata package: data that ships with the code


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda p: str(p.relative_to(CORE)))
def test_core_calls_nothing_impure(path: Path) -> None:
    """No module of the core calls a clock, chance or the terminal; only `zone` opens files."""
    forbidden = IMPURE if path.name in READS_ZONE_DATA else IMPURE | {"open"}
    calls = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    assert not calls & forbidden
