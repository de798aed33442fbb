"""Job files of any bytes: definitions or errors come out, in a time and in memory that their size allows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tickwise.sources.yaml import Loaded, read_path, read_text

from ..sources.test_yaml_fuzz import BOMBS, EXAMPLES, laughs, survives
from .law import MORE, SOON, examples, lawful, memory
from .texts import nearly

PER_KIBIBYTE = 0.02  # seconds of CPU time, beyond the first that every text has
MEMORY = 64 << 20
SIGNS = "\n\t :-?,[]{}#&*!|>'\"%@`~<=.0aH/"
PIECES = (
    "base: &b {queue: slow}\njob: {<<: *b}\n", "name: &n nightly\ndescription: *n\n", "a: &a [*a]\n",
    "<<: [1, 2]\n", "schedule: !!python/object:os.system x\n", "schedule: !!binary AAAA\n", "? [a, b]\n",
    "!<tag:yaml.org,2002:int> 5\n", "name: a\nname: b\n", "env: {A: 1, A: 2}\n", "\tcommand: x\n",
    "%YAML 1.1\n---\n", "%TAG ! x:\n", "--- |\n  x\n...\n", "on: NO\nsteps: [{name: a, command: *x}]\n",
    "params: {a: 1_000, b: 0o17, c: 0x1F, d: .inf, e: 2026-01-01, f: ~}\n",
)  # fmt: skip
QUICK = ("a scalar of 10 MB", "a billion laughs", "laughs in depth", "aliases", "brackets", "a long number")


def allowed(size: int) -> float:
    return SOON + PER_KIBIBYTE * size / 1024


@examples(80)
@given(nearly((*EXAMPLES, *PIECES), SIGNS))
@example("command: x\n" + PIECES[0])
@example(laughs(4))
def test_texts(text: str) -> None:
    """A text is read or refused, in a time that grows with its length and not faster."""
    lawful(lambda: survives(text), allowed(len(text)))


@pytest.mark.parametrize("name", BOMBS if MORE > 1 else QUICK)
def test_bombs(name: str) -> None:
    """What would take all memory or time takes little of both."""
    text = BOMBS[name][0]()
    lawful(lambda: read_text(text, "a.yaml", "a"), allowed(len(text)))
    assert memory(lambda: read_text(text, "a.yaml", "a")) < MEMORY


BYTES: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda text, encoding, mark: mark + text.encode(encoding, "replace"),
        nearly(PIECES, SIGNS),
        st.sampled_from(["utf-8", "utf-16", "utf-32", "latin-1", "shift-jis"]),
        st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\xc0\x80", b"\xed\xa0\x80"]),
    ),
)


@examples(80)
@given(BYTES)
@example(b"\xef\xbb\xbfcommand: x\n")
@example("command: x\n".encode("utf-16"))
@example(b"command: \xff\n")
def test_files(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """A file of any bytes gives definitions, or errors that name it; nothing is raised."""
    path = tmp_path_factory.getbasetemp() / "a.yaml"
    path.write_bytes(content)
    loaded = lawful(lambda: read_path(path), allowed(len(content)))
    assert loaded is not None
    assert loaded.jobs or loaded.errors
    assert all(error.file == str(path) for error in loaded.errors)


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("none")),
    "a link to itself": lambda path: path.symlink_to(path),
    "a huge file": lambda path: path.write_bytes(b"# x\n" * 600_000),
}


@pytest.mark.parametrize("what", ODD_FILES)
def test_what_is_no_file(what: str, tmp_path: Path) -> None:
    """What stands there instead of a job file hides none of the others in its folder."""
    (tmp_path / "good.yaml").write_text("schedule: '@daily'\ncommand: x\n")
    ODD_FILES[what](tmp_path / "odd.yaml")
    loaded = lawful(lambda: read_path(tmp_path), 1)
    assert isinstance(loaded, Loaded)
    assert [placed.job.name for placed in loaded.jobs] == ["good"]
