"""An exception of user code as text: with the frames of the user's code, without ours."""

import importlib
import traceback
from pathlib import Path
from types import TracebackType

from ...core.payload import clip

_IMPORTLIB = Path(importlib.__file__)
_ASYNCIO = _IMPORTLIB.parents[1] / "asyncio"  # importing it for its path takes longer than all the rest
_OUR_FRAMES = (str(Path(__file__).parent), str(_ASYNCIO), str(_IMPORTLIB), "<frozen ")
MAX_ERROR_LENGTH = 32_768
_HEADLINES: dict[type[BaseException], str] = {
    MemoryError: "it ran out of memory",
    KeyboardInterrupt: "it raised KeyboardInterrupt",
}


def failure_text(error: BaseException) -> str:
    """The traceback, after a headline if the exception would have ended a whole process (S46)."""
    lines = traceback.format_exception(type(error), error, _user_frames(error.__traceback__))
    text = clip("".join(lines).rstrip(), MAX_ERROR_LENGTH)
    headline = next((words for kind, words in _HEADLINES.items() if isinstance(error, kind)), "")
    if isinstance(error, SystemExit):
        headline = f"it called sys.exit({'' if error.code is None else repr(error.code)})"
    return f"{headline}, which ends this run only\n{text}" if headline else text


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OUR_FRAMES):
        trace = trace.tb_next
    return trace
