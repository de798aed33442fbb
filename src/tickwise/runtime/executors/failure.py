"""What went wrong in somebody's code, as a text for people: their frames, not ours."""

import importlib
import traceback
from pathlib import Path
from types import TracebackType

from ...core.payload import clip

_IMPORTLIB = Path(importlib.__file__)
_ASYNCIO = _IMPORTLIB.parents[1] / "asyncio"  # not imported for its place: that takes longer than all else here
_NOT_THEIRS = (str(Path(__file__).parent), str(_ASYNCIO), str(_IMPORTLIB), "<frozen ")
LONGEST_ERROR = 32_768
_HEADLINES: dict[type[BaseException], str] = {
    MemoryError: "it ran out of memory",
    KeyboardInterrupt: "it raised KeyboardInterrupt",
}


def failure_text(error: BaseException) -> str:
    """The traceback, and before it in words what would have ended a whole process (S46)."""
    lines = traceback.format_exception(type(error), error, _theirs(error.__traceback__))
    text = clip("".join(lines).rstrip(), LONGEST_ERROR)
    headline = next((words for kind, words in _HEADLINES.items() if isinstance(error, kind)), "")
    if isinstance(error, SystemExit):
        headline = f"it called sys.exit({'' if error.code is None else repr(error.code)})"
    return f"{headline}, which ends this run only\n{text}" if headline else text


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_NOT_THEIRS):
        trace = trace.tb_next
    return trace
