"""Another machine, by the user's own `ssh`: its keys, agent, jump hosts and `ssh_config`.

    [engines.box]
    kind = "ssh"
    host = "box.example"

One connection is kept open. On its other end is `sh`, which is given one script at a time; all that varies is
quoted, and nothing of it stands on a command line. The shell reads a script as a whole before it executes any of
it, so a connection that breaks meanwhile has done all or nothing.

The work is started in a session of its own, and goes on without the connection. Of each attempt the other side
keeps a folder under `.tickwise/attempts`, named by its reference. Making a folder succeeds once, so the same order
again finds the first. The folder has these files:

    start    process number, when that process began, fingerprint, and which order it was
    output   what the program printed; the work itself sends its log to the API
    exit     its exit code

A process is known by its number and when it began, because numbers are used again.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from secrets import token_hex
from shlex import quote
from typing import Any, ClassVar, NamedTuple

from ...core.errors import InputError
from ...core.handover import Sight, Sighting
from ...core.settle import Failed
from .contract import Engine, EngineUnavailableError, LogChunk, Order, OrderRefusedError, Submitted
from .fields import REQUIRED, EngineField, read_fields, text, texts, whole
from .ssh_shell import RemoteShell

_ATTEMPTS = ".tickwise/attempts"
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_MAX_LOG = 262_144  # bytes in one chunk
_MAX_ERROR = 500  # bytes of the output of a program that failed
_FUNCTIONS = r"""
began() {
    if [ -r "/proc/$1/stat" ]; then
        set -- $(sed "s/.*) //" "/proc/$1/stat" 2>/dev/null)
        case "${1:-Z}" in [ZX]) ;; *) echo "${20}" ;; esac
    else ps -o lstart= -p "$1" 2>/dev/null; fi
}
"""  # when a process began; nothing if it has ended
_RUNNER = r"""
folder=$1 print=$2 order=$3 mask=$4; shift 4
mkdir "$folder" 2>/dev/null || exit 0
trap "" HUP; trap : TERM INT
: > "$folder/output"
printf "%s\n" "$$" "$(began $$)" "$print" "$order" > "$folder/start.new" || exit 1
mv "$folder/start.new" "$folder/start" || exit 1
(umask "$mask"; exec "$@") < /dev/null >> "$folder/output" 2>&1 &
work=$!
while :; do wait "$work"; code=$?; kill -0 "$work" 2>/dev/null || break; done
printf "%s\n" "$code" > "$folder/exit.new" && mv "$folder/exit.new" "$folder/exit"
"""  # the process that outlives the connection; it is not ended by what ends the work
_OPERATIONS = r"""
detach() {
    if command -v setsid >/dev/null; then exec setsid "$@"
    elif command -v perl >/dev/null; then exec perl -MPOSIX -e "POSIX::setsid(); exec @ARGV" "$@"
    else exec python3 -c "import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])" "$@"; fi
}
load() {
    folder=$attempts/$1
    [ -f "$folder/start" ] || return 1
    { read -r pid; read -r start; read -r print; read -r order; } < "$folder/start"
}
is_broken() { [ -d "$folder" ] && ! [ -f "$folder/start" ] && [ -n "$(find "$folder" -prune -mmin +1)" ]; }
runs() { [ "$(began "$pid")" = "$start" ]; }
ended() { echo "$1 ended $2 $(tail -c "$3" "$folder/output" | od -An -v -tx1 | tr -d " \n")"; }
look() {
    if ! load "$1"; then
        if [ -d "$folder" ] && ! is_broken; then echo "$1 waiting"; else echo "$1 unknown"; fi
    elif [ -f "$folder/exit" ]; then ended "$1" "$(cat "$folder/exit")" "$2"
    elif runs; then echo "$1 running"
    elif [ -f "$folder/exit" ]; then ended "$1" "$(cat "$folder/exit")" "$2"
    else ended "$1" - "$2"; fi
}
remove() { mv "$1" "$attempts/.gone.$$" 2>/dev/null; rm -rf "$attempts/.gone.$$"; }
submit() {
    reference=$1 wanted=$2 own=$3; shift 3
    load "$reference" || if is_broken; then remove "$folder"; fi
    set -- tickwise "$folder" "$wanted" "$own" "$mask" "$@"
    [ -d "$folder" ] || (detach sh -c "$runner" "$@") </dev/null >/dev/null 2>&1 &
    tries=0
    until load "$reference"; do
        tries=$((tries + 1)); [ "$tries" -le 200 ] || return 1
        sleep 0.05
    done
    if [ "$order" = "$own" ]; then echo new; elif [ "$print" = "$wanted" ]; then echo same; else echo other; fi
}
signal() { if load "$2" && runs; then kill -s "$1" -- "-$pid"; fi; }
"""


class _Settings(NamedTuple):
    host: str
    user: str
    port: int | None
    identity: str
    options: tuple[str, ...]
    command: tuple[str, ...]
    folder: str


def _word(value: Any) -> str:
    word = text(value)
    if word.startswith("-") or any(char.isspace() for char in word):
        raise InputError("must be one word that does not begin with -")
    return word


def _port(value: Any) -> int:
    number = whole(value)
    if not 0 < number < 65_536:
        raise InputError("must be a number from 1 to 65535")
    return number


def _command(value: Any) -> tuple[str, ...]:
    words = texts(value)
    if not words:
        raise InputError('must be a list of words, such as ["tickwise", "exec"]')
    return words


def _options(value: Any) -> tuple[str, ...]:
    found = texts(value)
    if not all("=" in option for option in found):
        raise InputError('must be options of ssh_config, such as ["ProxyJump=bastion"]')
    return found


_FIELDS = {
    "host": EngineField(_word, REQUIRED),  # as for ssh: a name, an address, or a Host of ssh_config
    "user": EngineField(_word, ""),
    "port": EngineField(_port),
    "identity": EngineField(text, ""),  # a file with a private key
    "options": EngineField(_options, ()),
    "command": EngineField(_command, ("tickwise", "exec")),
    "folder": EngineField(text, ""),  # where the command is started; relative to the home
}


class SshEngine(Engine):
    """Another machine."""

    kind: ClassVar[str] = "ssh"
    creates_once: ClassVar[bool] = True
    tells_unknown: ClassVar[bool] = True

    def __init__(self, name: str, settings: _Settings) -> None:
        self.name = name
        self._settings = settings
        enter = f"cd -- {quote(settings.folder)} && " if settings.folder else ""
        first = (
            f'mask=$(umask); umask 077; {enter}attempts=$PWD/{_ATTEMPTS}; mkdir -p "$attempts" || exit 1\n'
            f"{_FUNCTIONS}runner={quote(_FUNCTIONS + _RUNNER)}\n{_OPERATIONS}"
        )
        self._shell = RemoteShell(name, _ssh_command(settings), first)

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "SshEngine":
        return cls(name, _Settings(**read_fields(settings, _FIELDS, f"[engines.{name}]")))

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        read_fields(options, {}, "engine")

    async def submit(self, order: Order) -> Submitted:
        reference = _checked(order.reference)
        variables = "".join(
            f"export {_variable(name)}={_quoted(one)}\n" for name, one in order.environment.items()
        )
        words = (reference, order.fingerprint, token_hex(8), *self._settings.command)
        answer = await self._run(f"{variables}submit {' '.join(map(_quoted, words))}")
        match answer.strip():
            case b"new" | b"same" as which:
                return Submitted(self._address(reference), existed=which == b"same")
            case b"other":
                raise OrderRefusedError(f"{self.name} has another order under {reference}")
        raise EngineUnavailableError(f"{self.name} did not start {reference}")

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        known = [reference for reference in references if _REFERENCE.fullmatch(reference)]
        if not known:
            return {}
        answer = await self._run("".join(f"look {quote(reference)} {_MAX_ERROR}\n" for reference in known))
        lines = (line.split(" ") for line in answer.decode("ascii", "replace").splitlines())
        return {reference: self._sighting(reference, *said) for reference, *said in lines}

    async def cancel(self, reference: str) -> None:
        await self._run(f"signal TERM {quote(_checked(reference))}")

    async def kill(self, reference: str) -> None:
        await self._run(f"signal KILL {quote(_checked(reference))}")

    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        first = int(cursor or 0)
        file = f'"$attempts"/{quote(_checked(reference))}/output'
        data = await self._run(f"if [ -f {file} ]; then tail -c +{first + 1} {file} | head -c {_MAX_LOG}; fi")
        decoder = getincrementaldecoder("utf-8")("replace")
        printed = decoder.decode(data)  # a character of which only a part has come waits for the next chunk
        return LogChunk(printed, str(first + len(data) - len(decoder.getstate()[0])))

    async def forget(self, reference: str) -> None:
        await self._run(f'remove "$attempts"/{quote(_checked(reference))}')

    async def close(self) -> None:
        await self._shell.close()

    async def _run(self, script: str) -> bytes:
        return await self._shell.run(script)

    def _address(self, reference: str) -> str:
        settings = self._settings
        user = f"{settings.user}@" if settings.user else ""
        folder = f"{settings.folder.rstrip('/')}/" if settings.folder else ""
        return f"{user}{settings.host}:{folder}{_ATTEMPTS}/{reference}"

    def _sighting(self, reference: str, state: str, code: str = "", output: str = "") -> Sighting:
        address = self._address(reference)
        if state != "ended":
            return Sighting(Sight(state), address=address)
        if code == "0":
            return Sighting(Sight.ENDED, address=address)
        printed = bytes.fromhex(output).decode("utf-8", "replace").strip()
        said = (
            "it ended without an exit code: killed, or its machine restarted"
            if code == "-"
            else f"exit code {code}"
        )
        return Sighting(Sight.ENDED, Failed(), f"{said}\n{printed}".strip(), address)


def _ssh_command(settings: _Settings) -> tuple[str, ...]:
    """No question is asked of anybody, and a connection that hangs is found out."""
    own = ("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=2")
    options = [word for option in (*settings.options, *own) for word in ("-o", option)]
    port = ("-p", str(settings.port)) if settings.port else ()
    user = ("-l", settings.user) if settings.user else ()
    identity = ("-i", settings.identity) if settings.identity else ()
    return ("ssh", "-T", *options, *port, *user, *identity, "--", settings.host, "exec sh -s")


def _checked(reference: str) -> str:
    """A reference becomes the name of a folder."""
    if not _REFERENCE.fullmatch(reference):
        raise OrderRefusedError(f"{reference[:100]!r} is no reference of an attempt")
    return reference


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
        raise OrderRefusedError(f"{name[:100]!r} cannot be the name of a variable")
    return name


def _quoted(value: str) -> str:
    if "\0" in value:
        raise OrderRefusedError("a variable or a word of a command cannot hold the character 0")
    return quote(value)
