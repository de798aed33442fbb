"""Scripts are files of the package: each says what it does, and each that is called is there."""

import re
from pathlib import Path

from tickwise.stores import redis
from tickwise.stores.redis.scripts import script

PACKAGE = Path(redis.__file__).parent
SHARED = {"base", "runs", "jobs", "queues"}
NAMES = {path.stem for path in (PACKAGE / "lua").glob("*.lua")}
CALLED = re.compile(r'(?:\bcall\(\s*|call_with_offers\(\s*server,\s*|order\()"(\w+)"')


def test_every_script_says_what_it_does() -> None:
    """Its first line is a comment that begins with its name; what all share begins with a comment, too."""
    heads = {name: (PACKAGE / "lua" / f"{name}.lua").read_text("utf-8").splitlines()[0] for name in NAMES}
    assert [name for name, head in heads.items() if not head.startswith("-- ")] == []
    assert [name for name in NAMES - SHARED if not heads[name].startswith(f"-- {name}: ")] == []


def test_every_script_that_is_called_is_there_and_no_other() -> None:
    """A script has one name: that of its file."""
    called = {name for path in PACKAGE.glob("*.py") for name in CALLED.findall(path.read_text("utf-8"))}
    assert called == NAMES - SHARED


def test_no_move_walks_through_all_keys() -> None:
    """No script says KEYS or SCAN: its work grows with what it does, not with what the store holds."""
    texts = {name: script(name).text for name in NAMES - SHARED}
    assert [name for name, text in texts.items() if re.search(r"'(?:KEYS|H?S?Z?SCAN)'", text)] == []
