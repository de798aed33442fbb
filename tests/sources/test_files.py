"""S70: a file is told when it has settled, and only of folders that may be looked into."""

import asyncio
import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tickwise.core.event_sources import MAX_FILES
from tickwise.core.events import SettledFiles
from tickwise.sources.files import FileWatch, may_watch, watch


class Looks:
    """A node that looks into a folder, on a clock of its own."""

    def __init__(self, folder: Path, names: str = "*.csv", *, allowed: Path | None = None) -> None:
        self.second = 0.0
        self.source = SettledFiles(str(folder), names, 5)
        self.watch = FileWatch([str(allowed or folder)], lambda: self.second)
        self.taken: set[str] = set()

    def __call__(self, at: float) -> list[str] | None:
        """The names of files that are events at a time."""
        self.second = at
        found = asyncio.run(self.watch.look("load", self.source, self.taken))
        if found is None:
            return None
        self.taken |= {file.key for file in found.files}
        return [Path(file.path).name for file in found.files]


def test_a_file_that_is_still_written_is_no_event(tmp_path: Path) -> None:
    """S70: a slow writer: size and time must stay the same for the whole time; each file by itself."""
    look, slow = Looks(tmp_path), tmp_path / "slow.csv"
    (tmp_path / "done.csv").write_text("all")
    for second in range(10):
        with slow.open("a") as file:
            file.write("a line\n")
        assert look(second) == (["done.csv"] if second == 5 else [])
    assert [look(second) for second in (13.9, 14, 15)] == [[], ["slow.csv"], []]
    status = slow.stat()
    os.utime(slow, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert [look(second) for second in (20, 24, 25)] == [[], [], ["slow.csv"]]
    slow.rename(tmp_path / "renamed.csv")
    assert [look(second) for second in (30, 35, 40)] == [[], ["renamed.csv"], []]


def test_only_files_that_match_are_seen(tmp_path: Path) -> None:
    """S70: no folders, links, hidden files, or files further below."""
    (tmp_path / "folder.csv").mkdir()
    for name in ("a.csv", ".b.csv", "c.txt", "folder.csv/d.csv"):
        (tmp_path / name).touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "c.txt")
    (tmp_path / "dead.csv").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.csv")
    look, hidden = Looks(tmp_path), Looks(tmp_path, ".*")
    assert (look(0), look(5)) == ([], ["a.csv"])
    assert (hidden(0), hidden(5)) == ([], [".b.csv"])


def test_a_folder_that_is_not_allowed_is_not_looked_into(tmp_path: Path) -> None:
    """S70: wherever links lead; whether it is there is not told."""
    for name in ("in", "in/below", "inside", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "back").symlink_to(tmp_path / "in")
    allowed = {
        name: may_watch(SettledFiles(f"{tmp_path}/{name}", "*", 1), [str(tmp_path / "in")])
        for name in ("in", "in/below", "back", "inside", "other", "in/out", "in/../other", "")
    }
    assert [name for name, may in allowed.items() if may] == ["in", "in/below", "back"]
    assert may_watch(SettledFiles("/etc", "*", 1), ["/"])
    for looks in (
        Looks(tmp_path / "other", allowed=tmp_path / "in"), Looks(tmp_path / "missing", allowed=tmp_path / "in"),
    ):  # fmt: skip
        assert looks(0) is None
        assert looks.watch.problems == ()
    nobody = FileWatch([])
    assert asyncio.run(nobody.look("load", SettledFiles(str(tmp_path), "*", 1), ())) is None


def test_a_folder_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    """Its files are events when it is back."""
    look = Looks(tmp_path / "in", allowed=tmp_path)
    with capture_logs() as logged:
        assert [look(second) for second in (0, 1)] == [None, None]
    assert [entry["event"] for entry in logged] == ["files cannot be read"]
    [problem] = look.watch.problems
    assert problem == f"{tmp_path}/in: load waits for files, and it cannot be read: No such file or directory"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").touch()
    assert [look(2), look(7)] == [[], ["a.csv"]]
    assert look.watch.problems == ()


@pytest.mark.parametrize(
    ("made", "names", "says"), [(MAX_FILES + 1, "*.csv", "1,000 files that match"), (60, "no*", "50 names")]
)
def test_a_folder_with_too_much_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: int, names: str, says: str
) -> None:
    """S70: it costs a node little, and what to do is said; then it goes on."""
    monkeypatch.setattr(watch, "MAX_ENTRIES", 50 if made < 100 else 20_000)
    for number in range(made):
        (tmp_path / f"{number}.csv").touch()
    look = Looks(tmp_path, names)
    assert look(0) is None
    assert f"it has more than {says}: move away what is done" in look.watch.problems[0]
    for number in range(20):
        (tmp_path / f"{number}.csv").unlink()
    assert look(1) == []
    look.watch.forget_others(())
    assert look(6) == []  # it has to settle again
