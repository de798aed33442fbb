"""The bounded log of a step."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.runtime.executors.log import OUT, StepLog


def logged(*pieces: tuple[str, bytes], head: int = 1_000, tail: int = 1_000) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    log = StepLog(lambda stream, line: lines.append((stream, line)), head=head, tail=tail)
    for stream, data in pieces:
        log.feed(stream, data)
    log.close()
    return lines


def test_lines_come_out_as_soon_as_they_are_whole() -> None:
    """A line is passed on when its end has come, and not before."""
    lines: list[str] = []
    log = StepLog(lambda _stream, line: lines.append(line))
    log.feed(OUT, b"one\ntw")
    assert lines == ["one"]
    log.feed(OUT, b"o\n")
    assert lines == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\r\nb\n", ["a", "b"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"\xff\xfea\n", ["��a"]),
        (b"a\0b\n", ["a�b"]),
        (b"", []),
    ],
)
def test_output_becomes_clean_text(data: bytes, lines: list[str]) -> None:
    """Line ends go, and what no store can keep (bad UTF-8, NUL) is replaced."""
    assert logged((OUT, data)) == [(OUT, line) for line in lines]


def test_a_character_cut_in_two_is_whole_again() -> None:
    """A character whose bytes come in two pieces is not taken for a bad one."""
    first, second = "ü\n".encode()[:1], "ü\n".encode()[1:]
    assert logged((OUT, first), (OUT, second)) == [(OUT, "ü")]


def test_streams_do_not_mix_within_a_line() -> None:
    """Half a line of one stream is not completed by the other."""
    mixed = logged((OUT, b"o1"), ("stderr", b"e1\n"), (OUT, b"o2\n"))
    assert mixed == [("stderr", "e1"), (OUT, "o1o2")]


def test_a_line_without_an_end_comes_in_pieces() -> None:
    """A line that never ends is passed on in pieces instead of growing."""
    lines = logged((OUT, b"x" * 40_000), head=100_000)
    assert [len(line) for _, line in lines] == [16_384, 16_384, 7_232]


@given(
    st.lists(st.tuples(st.sampled_from([OUT, "stderr"]), st.binary(max_size=60)), max_size=40),
    st.integers(0, 200),
    st.integers(1, 200),
)
def test_what_fits_is_whole(pieces: list[tuple[str, bytes]], head: int, tail: int) -> None:
    """Output within the two bounds is complete, wherever the bound between them falls."""
    within, size = [], 0
    for stream, data in pieces:
        size += len(data)
        if size <= head + tail:
            within.append((stream, data))
    for stream in (OUT, "stderr"):
        whole = b"".join(data for of, data in within if of == stream)
        *complete, rest = whole.decode("utf-8", "replace").replace("\0", "�").split("\n")
        expected = [line.removesuffix("\r") for line in complete] + [rest] * bool(rest)
        assert [line for of, line in logged(*within, head=head, tail=tail) if of == stream] == expected


def test_the_middle_is_left_out_and_counted() -> None:
    """Of 10,000 lines the first and the last are kept, and a line between them says how much is missing."""
    data = b"".join(b"line %05d\n" % n for n in range(10_000))
    lines = logged((OUT, data), head=1_100, tail=550)
    kept = [line for stream, line in lines if stream == OUT]
    assert kept[:100] == [f"line {n:05d}" for n in range(100)]
    assert kept[100:] == [f"line {n:05d}" for n in range(9_950, 10_000)]
    assert lines[100] == ("tickwise", "… 108,350 bytes with 9,850 line ends left out …")


def test_memory_stays_bounded_whatever_comes() -> None:
    """64 MiB of output, in large and in tiny pieces, cost little more than the bound."""
    log = StepLog(lambda _stream, _line: None)
    chunk = b"y\n" * 131_072
    tracemalloc.start()
    for _ in range(256):
        log.feed(OUT, chunk)
    for n in range(100_000):
        log.feed(("stdout", "stderr")[n % 2], b"y")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 * 2**20


def test_what_comes_after_the_end_is_dropped() -> None:
    """A thread that nobody waits for cannot write into a log that is closed."""
    lines: list[str] = []
    log = StepLog(lambda _stream, line: lines.append(line))
    log.close()
    log.feed(OUT, b"late\n")
    log.write_note("late")
    assert lines == []
