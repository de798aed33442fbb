"""What a person names as `module:name`: imported from the working folder."""

import importlib
import sys
from typing import Any

from ..core.errors import InputError


def import_target(target: str) -> Any:
    """The object of that name; InputError says what is missing."""
    module, _, name = target.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{target}: there is no module {error.name}: run it where `import {module}` works"
        ) from None
    except AttributeError:
        raise InputError(f"{target}: the module {module} has no {name!r}") from None
