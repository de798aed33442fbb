"""What a person names as `module:name`: imported from the working folder."""

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from ..core.errors import InputError

_IMPORTLIB = str(Path(importlib.__file__).parent)


def import_target(target: str) -> Any:
    """The object of that name; InputError says what is missing."""
    module, _, name = target.partition(":")
    sys.path.insert(0, "")
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{target}: there is no module {error.name}: run it where `import {module}` works"
        ) from None
    except Exception as error:  # noqa: BLE001  (the code that is imported)
        raise InputError(f"{target} cannot be imported\n{_own_traceback(error)}") from None
    if not hasattr(imported, name):
        raise InputError(f"{target}: the module {module} has no {name!r}")
    return getattr(imported, name)


def _own_traceback(error: Exception) -> str:
    """The traceback from the first line of the app on."""
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code.co_filename.startswith((__file__, "<frozen", _IMPORTLIB)):
        place = place.tb_next
    return "".join(traceback.format_exception(type(error), error, place)).rstrip()
