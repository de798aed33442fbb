"""Files that belong to another user."""

import os
from pathlib import Path

import pytest

SOMEBODY = 12_345
TRUST = "TICKWISE_TRUSTED_FOLDERS"


def give_away(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Make files belong to another user: by chown as root, else by being another user ourselves."""
    for path in paths:
        if os.geteuid() == 0:
            os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
