"""Texts that are nearly right: a right one with pieces cut out, doubled, repeated and replaced by odd ones."""

from collections.abc import Sequence

from hypothesis import strategies as st

ODD = (
    "", " ", "\t", "\n", "\r\n", "\0", "\x07", "\x1b[2J", "\x85", "\u00a0", "\u2028", "\ufeff", "\u200d", "\u202e",
    "\ud800", "\udfff", "\U0010ffff", "٣", "³", "Ⅷ", "ß", "İ", "e\u0301", "😀", "𝟙", "-", "+", "--", "0", "-1",
    "00", "9" * 20, "9" * 5_000, "1e999", "nan", "inf", "None", "true", "{}", "%s", "${HOME}", "../..", "'", '"',
    "\\", "a" * 2_000, "(" * 500, "[" * 500, "," * 500, "*/" * 300,
)  # fmt: skip
_SCRAPS = st.sampled_from(ODD) | st.text(max_size=8)
_EDITS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 12), _SCRAPS, st.integers(0, 3)), min_size=1, max_size=4
)


def nearly(right: Sequence[str], signs: str = "") -> st.SearchStrategy[str]:
    """Mostly mutations of right texts; also the signs of the grammar in any order, and any text at all."""
    mutated = st.builds(_mutated, st.sampled_from(right), _EDITS)
    return mutated | st.text(alphabet=signs or "a0-", max_size=40) | st.text(max_size=40) | st.sampled_from(ODD)


def _mutated(text: str, edits: Sequence[tuple[int, int, str, int]]) -> str:
    """At a place, a piece goes, comes again so many times, and a scrap comes after it."""
    for at, length, scrap, times in edits:
        start = at % (len(text) + 1)
        piece = text[start : start + length]
        text = text[:start] + piece * times + scrap + text[start + length :]
    return text
