"""The stores that the API is tested over."""

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where everything is kept."""
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/.tickwise/tickwise.db"
