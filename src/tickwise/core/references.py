"""References such as `${params.table}`, `${run.slot}` and `${steps.extract.outputs.rows}`: where they may stand.

A value is data. So that no program reads it as anything else, these rules hold for every command (B2):

- A reference is an argument of its own, never part of one: text around it could be code or an option.
- It does not choose the program, neither directly nor behind a program that starts another (`env`, `timeout`).
- A command with an interpreter takes references only behind the file or the module that is interpreted. A command
  with code in it (`sh -c`, `python -c`, `awk`) takes none, nor does one whose program passes its arguments to a
  shell (`ssh`). Directly behind an option that takes code (`-c`, `--command`) there is none either.
- A value that begins with `-` is refused unless a `--` stands before it: it would be an option.

Variables and headers of requests may hold references anywhere in their text, and scripts get variables only.
`${secret:NAME}` stands in variables and headers only: everybody on a machine can read the arguments of a program.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .errors import InputError, did_you_mean, nearest_word

REFERENCE = re.compile(r"\$\{((?:params|run|steps|item)\.[^}]*|item|secret:[^}]*)\}")
SECRET = "secret:"  # noqa: S105  (it begins the name of a secret of the worker, S76)
_NEVER_SHELL = re.compile(r"\$\{((?:params|run|steps|item)\.[^}]*)\}")  # no shell reads such a variable
RUN_FACTS = frozenset({"id", "job", "schedule", "slot", "previous_slot", "trigger", "attempt", "outcome"})
_SHELLS = frozenset("sh ash bash dash elvish fish ksh mksh rbash xonsh yash zsh csh tcsh nu".split())
_PYTHONS = frozenset({"python", "pypy"})
_INTERPRETERS = (
    _SHELLS
    | _PYTHONS
    | frozenset(
        "perl ruby node nodejs deno bun php lua luajit tclsh wish expect r rscript julia pwsh powershell cmd "
        "osascript guile racket sbcl clisp groovy scala kotlin jshell raku swipl octave".split()
    )
)
_TAKES_CODE = frozenset(  # as a plain argument, or passes its arguments to a shell
    "awk gawk mawk nawk sed gsed ssh rsh mosh su runuser watch parallel eval at batch script flock xargs find fd "
    "entr tmux screen busybox toybox make gmake gdb lldb emacs vim vi ex ed nvim xterm "
    "sqlite psql mysql mariadb mongo mongosh duckdb".split()
)
_STARTERS = frozenset(  # start the program that is named behind their own options
    "env timeout nice ionice nohup setsid stdbuf time chrt taskset numactl prlimit setpriv sudo doas chroot "
    "unshare nsenter systemd-run strace ltrace valgrind catchsegv caffeinate exec command builtin chpst softlimit "
    "setuidgid gosu su-exec tini dumb-init catatonit unbuffer chronic torsocks fakeroot cpulimit".split()
)
_NOT_A_PROGRAM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*|[0-9.]+[smhd]?")  # variables of env, a time of timeout
_PYTHON_OPTIONS = frozenset({"-u", "-B", "-E", "-I", "-P", "-s", "-S", "-O", "-OO"})  # bring no code
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ce]|--(?:command|eval|execute?|expression|code|run|print|init-command)")


def check_command(arguments: Sequence[str]) -> None:
    """Refuse a command with a reference in a place where its value could be more than data."""
    places = [i for i, argument in enumerate(arguments) if REFERENCE.search(argument)]
    for place in places:
        check_no_secret(arguments[place], "everybody on the machine can read the arguments of a program")
        _check_alone(arguments[place])
    if places:
        _check_program(arguments, 0)
    for place in places:
        if _CODE_OPTION.fullmatch(arguments[place - 1]):
            raise _refusal(arguments[place], f"{arguments[place - 1]} may take code")


def _check_alone(argument: str) -> None:
    found = REFERENCE.search(argument)
    if found and found[0] != argument:
        option, equals, value = argument.partition("=")
        two = f": write it as two arguments, {option} and {value}" if equals and value == found[0] else ""
        raise _refusal(found[0], f"it must be an argument of its own, and {argument!r} is more than that{two}")


def check_no_secret(text: str, why: str) -> None:
    for name in REFERENCE.findall(text):
        if name.startswith(SECRET):
            raise InputError(f"${{{name}}} cannot stand there: {why}; hand it over in env")


def _check_program(arguments: Sequence[str], start: int) -> None:
    """Check the program at this place, and what it is given."""
    program = arguments[start]
    name = _program_name(program)
    if REFERENCE.search(program):
        raise _refusal(program, "a param is an argument and does not choose the program")
    references = [argument for argument in arguments[start:] if REFERENCE.search(argument)]
    if name in _TAKES_CODE:
        raise _refusal(references[0], f"{name} reads its arguments as code or passes them to a shell")
    if name in _STARTERS:
        _check_program(arguments, _started_program(arguments, start + 1, references[0]))
    elif name in _INTERPRETERS:
        _check_interpreter(arguments, start, references[0])
    else:
        _check_others(arguments[start + 1 :], references[0])


def _started_program(arguments: Sequence[str], place: int, reference: str) -> int:
    """Where the program stands that another one starts. Behind its options it needs a `--` to be found."""
    while place < len(arguments) and _NOT_A_PROGRAM.fullmatch(arguments[place]):
        place += 1
    if place < len(arguments) and not arguments[place].startswith("-"):
        return place
    if "--" in arguments[place:-1]:
        return _started_program(arguments, arguments.index("--", place) + 1, reference)
    raise _refusal(reference, "it is not clear which program is started: write -- before that program")


def _check_interpreter(arguments: Sequence[str], start: int, reference: str) -> None:
    """References may stand behind the file, or behind `-m` and a module; other options could bring code."""
    name, place = _program_name(arguments[start]), start + 1
    if name in _PYTHONS:
        while arguments[place] in _PYTHON_OPTIONS:
            place += 1
        place += arguments[place] == "-m"
    if arguments[place].startswith("-"):
        raise _refusal(reference, f"{name} with {arguments[place]} may have code in it")
    if REFERENCE.search(arguments[place]):
        raise _refusal(reference, f"it would choose what {name} executes")


def _check_others(arguments: Sequence[str], reference: str) -> None:
    """Refuse an interpreter with code among the arguments of another program, such as `docker run image sh -c`."""
    for argument, following in pairwise(arguments):
        if _program_name(argument) in _INTERPRETERS and following.startswith("-"):
            raise _refusal(reference, f"{argument} {following} may have code in it")


def _program_name(text: str) -> str:
    """`/usr/bin/python3.12` is `python`."""
    return re.sub(r"[-.0-9]*(?:\.exe)?$", "", text.rsplit("/", 1)[-1].lower()) or text


def _refusal(reference: str, reason: str) -> InputError:
    name = reference.removeprefix("${").removesuffix("}")
    kind, _, word = name.partition(".")
    variable = _VARIABLES.get(name) or (f"TICKWISE_{_PREFIXES[kind]}{word.upper()}" if kind in _PREFIXES else "")
    advice = (
        f"use the variable {variable} in a script, or hand it over in env" if variable else "hand it over in env"
    )
    return InputError(f"{reference} cannot stand there: {reason}; {advice}")


_PREFIXES = {"params": "PARAM_", "run": ""}
_VARIABLES = {"run.id": "TICKWISE_RUN_ID", "item": "TICKWISE_ITEM"}


def fill_command(arguments: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The arguments with the values in place of their references; what is unknown or unsafe is refused."""
    check_command(arguments)
    filled: list[str] = []
    for argument in arguments:
        value = fill_text(argument, values)
        if value.startswith("-") and value != argument and "--" not in arguments[: len(filled)]:
            problem = f"the value of {argument} begins with - and would be read as an option"
            raise InputError(
                f"{problem}: write -- before {argument}, if the program knows that, or give another value"
            )
        filled.append(value)
    return filled


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """The text with the values in place of its references."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            near = did_you_mean(nearest_word(match[1], list(values)))
            raise InputError(f"there is no value for {match[0]}{near}")
        return values[match[1]]

    return REFERENCE.sub(value, text)


def fill_value(value: Any, values: Mapping[str, Any], as_text: Callable[[Any], str]) -> Any:
    """A param with its references filled in. A text that is one reference becomes the value, such as a list."""
    if isinstance(value, str):
        whole = REFERENCE.fullmatch(value)
        if whole and whole[1] in values:
            return values[whole[1]]
        known = (name for name in REFERENCE.findall(value) if name in values)
        return fill_text(value, {name: as_text(values[name]) for name in known})
    if isinstance(value, Mapping):
        return {name: fill_value(each, values, as_text) for name, each in value.items()}
    return [fill_value(each, values, as_text) for each in value] if isinstance(value, list | tuple) else value


def texts_in(value: Any) -> Iterator[str]:
    """All texts of a param, where references may stand."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(each)


def output_reference(name: str) -> tuple[str, str] | None:
    """The step and the output that `steps.NAME.outputs.KEY` names; none if it is not of that form."""
    match = _OUTPUT.fullmatch(name)
    return (match[1], match[2]) if match else None


_OUTPUT = re.compile(r"steps\.(.+)\.outputs\.([^.]+)")
OUTPUT_NAME = re.compile(
    r"[A-Za-z_][A-Za-z0-9_-]{0,99}", re.ASCII
)  # of an output that is referred to, or a secret


def check_script(text: str) -> None:
    """Refuse a shell script with a reference: nothing is filled in there."""
    first = text.split("\n", 1)[0].strip()
    words = first[2:].split() if first.startswith("#!") else ["sh"]
    found = _NEVER_SHELL.search(text)
    if found and any(_program_name(word) in _SHELLS for word in words):
        raise _refusal(found[0], "a script is not filled in")
