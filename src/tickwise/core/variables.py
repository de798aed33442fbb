"""Which environment variables of a worker its programs get, and which are no secrets.

A worker's own environment may hold passwords of databases and clouds, and the settings of Tickwise. So a program
gets the ordinary variables, and those that the settings name (`pass_env`). A pattern is a name, or the beginning
of names with a `*` behind it.
"""

from collections.abc import Iterable, Mapping, Sequence

SETTINGS_PREFIX = "TICKWISE_"  # of variables that hold the worker's settings and the facts of a run
ORDINARY = tuple(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TMPDIR TMP TEMP TERM HOSTNAME XDG_* "
    "VIRTUAL_ENV CONDA_PREFIX PYTHONPATH LD_LIBRARY_PATH SSL_CERT_FILE SSL_CERT_DIR".split()
)
OF_THE_PROGRAM = ("*", f"{SETTINGS_PREFIX}*")  # everything: for functions of the worker's own program
_FOLDERS = ("PWD", "OLDPWD")


def passed_variables(environ: Mapping[str, str], patterns: Sequence[str]) -> dict[str, str]:
    """The variables that match. Settings match only a pattern that begins as they do."""
    return {name: value for name, value in environ.items() if _matches(name, patterns)}


def is_ordinary(name: str) -> bool:
    """Whether a variable of this name is known to hold no secret."""
    return _matches(name, (*ORDINARY, *_FOLDERS))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    is_setting = name.startswith(SETTINGS_PREFIX)
    for pattern in patterns:
        beginning = pattern.removesuffix("*")
        fits = name.startswith(beginning) if beginning != pattern else name == pattern
        if fits and (not is_setting or pattern.startswith(SETTINGS_PREFIX)):
            return True
    return False
