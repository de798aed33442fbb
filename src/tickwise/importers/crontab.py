"""crontab(5) of Debian, of a user or of the system; CRON_TZ and RANDOM_DELAY as cronie reads them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..core.references import REFERENCE
from .cron_text import NICKNAMES
from .model import CallPlace, Imported, ImportedJob, JobNames, ReadOptions, Refused
from .shell import read_action, suggest_name
from .wall_clock import DEBIAN, DebianRules, read_fields

_SETTING = re.compile(r"""\s*("[^"]*"|'[^']*'|[^\s='"]+)\s*=\s*("[^"]*"|'[^']*'|.*?)\s*""")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENTRY = re.compile(r"\s*(@\S+|\S+(?:\s+\S+){4})\s+(\S.*)")
_USER = re.compile(r"(\S+)\s+(\S.*)")
_INPUT = re.compile(r"(?<!\\)%")
_OF_CRON = frozenset(
    {"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "SHELL", "CRON_TZ", "RANDOM_DELAY"}
)
_OUTPUT_GONE = re.compile(r">\s*/dev/null|&>")
_LEGEND = re.compile(r"\s*(?:m|min|minute)\s+(?:h|hour)\b", re.IGNORECASE)
_MAX_DESCRIPTION = 200
_RECIPIENTS = re.compile(r"[A-Za-z0-9_.+@%-]+(?:, *[A-Za-z0-9_.+@%-]+)*")
_MAIL = """\
PATH="$PATH:/usr/sbin:/usr/lib"
printf 'To: {to}\\nSubject: %s failed\\n\\n%s\\n' "$TICKWISE_JOB" "$TICKWISE_ERROR" | sendmail -i -- {each}
"""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class _Entry(NamedTuple):
    times: str
    user: str | None
    line: str
    stdin: str | None
    call_place: CallPlace


@dataclass(slots=True)
class _File:
    """What the lines above an entry have set."""

    name: str
    options: ReadOptions
    settings: dict[str, str] = field(default_factory=dict)
    comment: str = ""


def read(files: Mapping[str, str], options: ReadOptions) -> Imported:
    """The jobs of crontabs, by the names of their files."""
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    mail: dict[str, str] = {}
    names = JobNames()
    for name, text in files.items():
        file = _File(name, options)
        for number, line in enumerate(text.split("\n"), 1):
            place = f"{name}:{number}"
            try:
                made = _read_line(file, line.removesuffix("\r"), place, names)
            except InputError as error:
                refused.append(Refused(place, line.strip(), str(error).split("\n", 1)[0]))
                continue
            if made is not None:
                jobs.append(made)
                if file.settings.get("MAILTO") != "":
                    mail[file.settings.get("MAILTO", "the owner")] = place
    return Imported(scheduler="cron", jobs=jobs, refused=refused, notes=tuple(_general_notes(jobs, mail)))


def _general_notes(jobs: list[ImportedJob], mail: Mapping[str, str]) -> Iterator[str]:
    if jobs:
        yield (
            "`catchup: skip` and `overlap: allow` are cron's ways; without them one run makes up for a downtime, "
            "and runs of a job never overlap"
        )
        yield (
            "cron starts commands in the user's home folder with PATH=/usr/bin:/bin, Tickwise with the folder and "
            "PATH of its worker"
        )
    if mail:
        yield (
            f"cron mails what jobs print to {', '.join(mail)}; Tickwise keeps it in the run's log, and mails "
            "failures where MAILTO names somebody; [notify] in the settings tells of lost and missed runs, too"
        )
    if silent := sum(bool(_OUTPUT_GONE.search(str(job.fields))) for job in jobs):
        yield f"{silent} of {len(jobs)} jobs send their output to /dev/null; a run's log would keep it"


def _read_line(file: _File, line: str, place: str, names: JobNames) -> ImportedJob | None:
    text = line.strip()
    if not text or text.startswith("#"):
        file.comment = text.lstrip("# ").strip()
        return None
    comment, file.comment = file.comment, ""
    if _CONTROL.search(text):
        raise InputError("it has control characters, which no job file can hold")
    setting = _SETTING.fullmatch(line)
    if setting:
        key, value = (_unquote(part) for part in setting.groups())
        file.settings[key] = value
        return None
    return _job_of_entry(file, _split(line, file.options), comment, place, names)


def _unquote(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _split(line: str, options: ReadOptions) -> _Entry:
    found = _ENTRY.fullmatch(line)
    if not found:
        raise InputError("it is neither a setting nor five fields and a command")
    times, command, user, begin = found[1], found[2], None, found.start(2)
    if options.system:
        named = _USER.fullmatch(command)
        if not named:
            raise InputError("it has no user, which each entry of a system crontab names")
        user, command = named.groups()
        begin += named.start(2)
    command, *stdin = _INPUT.split(command)
    lines = "\n".join(stdin).replace("\\%", "%") if stdin else None
    place = CallPlace(line[:begin].lstrip(), line[begin:])
    return _Entry(times, user, command.replace("\\%", "%").strip(), lines, place)


def _job_of_entry(file: _File, entry: _Entry, comment: str, place: str, names: JobNames) -> ImportedJob:
    if not entry.line:
        raise InputError("it has no command")
    fields: dict[str, Any] = {}
    notes: list[str] = []
    if comment and _may_describe(comment):
        fields["description"] = comment[:_MAX_DESCRIPTION]
    where = file.settings.get("CRON_TZ") or file.options.timezone or file.options.machine_zone
    rules = None
    if entry.times == "@reboot":
        fields["on_start"] = True
    else:
        times = NICKNAMES.get(entry.times, entry.times)
        if times.startswith("@"):
            raise InputError(f"cron knows no {times}")
        rules = DebianRules(read_fields(times.split(), DEBIAN), zone(where).tzinfo)
        fields["schedule"] = entry.times if entry.times in NICKNAMES else " ".join(times.split())
        fields |= {"timezone": where, "catchup": "skip", "overlap": "allow"}
    fields |= _settings_fields(file.settings, notes)
    if entry.user is not None:
        fields["labels"] = {"user": entry.user}
        notes.append(f"cron runs it as {entry.user}, Tickwise as the user of its worker")
    fields |= read_action(entry.line, file.settings.get("SHELL", "/bin/sh"), entry.stdin)
    name = names.take(suggest_name(entry.line))
    return ImportedJob(
        name=name, fields=fields, place=place, when=entry.times, notes=notes, rules=rules,
        call_place=entry.call_place,
    )  # fmt: skip


def _may_describe(comment: str) -> bool:
    """Whether a comment is words: no legend, and no entry that was commented out."""
    return comment[0].isalpha() and not _LEGEND.match(comment) and not _SETTING.fullmatch(comment)


def _settings_fields(settings: Mapping[str, str], notes: list[str]) -> Iterator[tuple[str, Any]]:
    """The fields that the settings above an entry stand for."""
    env = {}
    for key, value in settings.items():
        if key in _OF_CRON:
            continue
        if not _VARIABLE.fullmatch(key) or REFERENCE.search(value):
            notes.append(f"the variable {key[:40]} is left out: Tickwise would read its name or value differently")
        else:
            env[key] = value
    if env:
        yield "env", env
    if recipients := settings.get("MAILTO"):
        if _RECIPIENTS.fullmatch(recipients) and not recipients.startswith("-"):
            yield "on", {"failure": {"script": _mail_script(recipients)}}
        else:
            notes.append(f"MAILTO={recipients[:60]} is no list of addresses: nobody is told of failures")
    if "CRON_TZ" in settings:
        notes.append("CRON_TZ: cronie reads it as here; Debian's cron would fire in the machine's zone")
    minutes = settings.get("RANDOM_DELAY", "0")
    if minutes.isascii() and minutes.isdigit() and 0 < int(minutes[:5]) <= 1_440:
        yield "jitter", f"{int(minutes)}m"
        notes.append("RANDOM_DELAY: cronie draws one delay for all; `jitter` draws one for each slot")


def _mail_script(recipients: str) -> str:
    """Mail a failure by the program that cron mails output with."""
    each = recipients.replace(" ", "").split(",")
    return _MAIL.format(to=", ".join(each).replace("%", "%%"), each=" ".join(each))
