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
MAX_RAISED = 1_048_576  # characters, until the secrets in it are replaced: a cut could halve one
_HEADLINES: dict[type[BaseException], str] = {
    MemoryError: "it ran out of memory",
    KeyboardInterrupt: "it raised KeyboardInterrupt",
}


def failure_text(error: BaseException, most: int = MAX_ERROR_LENGTH) -> str:
    """A line that says what it is, and then the traceback: lists and notices show the first line."""
    lines = traceback.format_exception(type(error), error, _user_frames(error.__traceback__))
    text = clip("".join(lines).rstrip(), most)
    return f"{_headline(error)}\n{text}"


def _headline(error: BaseException) -> str:
    """The type and the first line of the message; in words if it would have ended a whole process (S46)."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({'' if error.code is None else repr(error.code)}), which ends this run only"
    for kind, words in _HEADLINES.items():
        if isinstance(error, kind):
            return f"{words}, which ends this run only"
    try:
        message = str(error).strip()
    except Exception:  # noqa: BLE001  (the user's own)
        message = ""
    name = type(error).__qualname__
    return f"{name}: {message.splitlines()[0]}" if message else name


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OUR_FRAMES):
        trace = trace.tb_next
    return trace
