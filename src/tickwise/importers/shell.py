"""A line that a shell would run → the action of a job, its folder, and a name for it.

A line that means the same without a shell becomes a `command`; any other a `script`, which a shell runs as before.
"""

import re
from pathlib import PurePosixPath
from typing import Any

_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./ -]*")
_INTO_FOLDER = re.compile(
    r"""cd\s+(?:"(/[^"$`\\]*)"|'(/[^']*)'|(/[^\s;&|<>()$`"'\\*?\[~#]*))\s*&&\s*(\S.*)""", re.DOTALL
)
_BUILT_IN = frozenset(
    ". : alias bg break cd command continue eval exec exit export fc fg for getopts hash if jobs case local read "
    "readonly return set shift source time times trap type ulimit umask unalias unset until wait while {".split()
)
_STARTERS = frozenset(  # start what they name; the name of the job is that one's
    "bash chronic chrt dash doas env exec flock ionice java nice node nohup perl php pipenv poetry python "
    "python3 run ruby run-one setsid sh stdbuf sudo taskset time timeout uv xvfb-run".split()
)
_WORD = re.compile(r"[^\s;&|<>()\"'`$]+")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*")
_HOW_LONG = re.compile(r"[0-9.]+[smhd]?")


def read_action(line: str, shell: str = "/bin/sh", stdin: str | None = None) -> dict[str, Any]:
    """The fields of a job file that do what the shell would do with this line."""
    folder = None
    found = _INTO_FOLDER.fullmatch(line)
    if found:
        folder, line = found[1] or found[2] or found[3], found[4]
    if stdin is not None:
        line = _with_input(line, stdin)
    first = line.split(" ", 1)[0]
    if _PLAIN.fullmatch(line) and "=" not in first and first not in _BUILT_IN:
        action: dict[str, Any] = {"command": line}
    else:
        start = "" if shell in {"/bin/sh", "sh"} else f"#!{shell}\n"
        action = {"script": f"{start}{line}\n"}
    return action if folder is None else {**action, "dir": folder}


def _with_input(line: str, stdin: str) -> str:
    end = "INPUT"
    while end in stdin.split("\n"):
        end += "_"
    return f"{{ {line}\n}} <<'{end}'\n{stdin}\n{end}"


def suggest_name(line: str) -> str:
    """The program that a line is about: `backup` of `cd /srv && nice ./backup.sh --all`."""
    found = _INTO_FOLDER.fullmatch(line)
    words = _WORD.findall(found[4] if found else line)
    for word in words:
        name = PurePosixPath(word)
        skipped = word.startswith("-") or _ASSIGNED.fullmatch(word) or _HOW_LONG.fullmatch(word)
        if skipped or name.name in _STARTERS or name.name in _BUILT_IN or name.suffix == ".lock":
            continue
        return name.stem if name.stem.isascii() and name.stem[:1].isalnum() else name.name
    return "job"
