"""Packages that only some installations have (docs/adr/0056): a missing one is named, with what installs it."""

from collections.abc import Iterator
from contextlib import contextmanager

from .core.errors import InputError


@contextmanager
def packages_of(extra: str, wanted: str) -> Iterator[None]:
    """For imports: InputError says what is wanted, which package that needs, and the extra that has it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "tickwise"):
            raise
        raise InputError(
            f"{wanted} needs {package}, which is not installed: pip install 'tickwise[{extra}]'"
        ) from None
