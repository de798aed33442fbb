"""Crontabs become job files that a node takes, that fire as before, and that say what they leave out."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise import Tickwise
from tickwise.cli.imported_jobs import JobFile, build_job_files, job_file_lines
from tickwise.importers.crontab import read
from tickwise.importers.model import Imported, ReadOptions
from tickwise.sources.defaults import NO_DEFAULTS

from .test_wall_clock import entries

START = 1_798_761_600  # 2027-01-01T00:00:00Z
YEAR = 365 * 86_400
BERLIN = ReadOptions("Europe/Berlin")


def imported(text: str, options: ReadOptions = BERLIN) -> Imported:
    return read({"tab": text}, options)


def only_job(text: str, options: ReadOptions = BERLIN) -> JobFile:
    """The one job of a crontab, as a node reads its file."""
    found = imported(text, options)
    files, refused = build_job_files(found, NO_DEFAULTS, START, START + YEAR)
    assert not refused
    return files[0]


def test_settings_and_comments_go_along() -> None:
    """Variables become `env`, SHELL the interpreter of a script, the comment above an entry its description."""
    job = only_job("SHELL=/bin/bash\nPATH = '/usr/local/bin'\n# Dumps the shop\n30 3 * * * dump | gzip > all.gz\n")
    assert job.imported.fields == {
        "description": "Dumps the shop",
        "schedule": "30 3 * * *",
        "timezone": "Europe/Berlin",
        "catchup": "skip",
        "overlap": "allow",
        "env": {"PATH": "/usr/local/bin"},
        "script": "#!/bin/bash\ndump | gzip > all.gz\n",
    }


def test_settings_hold_from_their_line_on() -> None:
    """An entry has the variables above it, with the last value of each."""
    jobs = imported("0 1 * * * a\nX=1\n0 2 * * * b\nX=2\n0 3 * * * c\n").jobs
    assert [job.fields.get("env") for job in jobs] == [None, {"X": "1"}, {"X": "2"}]


def test_cd_becomes_the_folder() -> None:
    """`cd X &&` is `dir`, and a plain line is a command without a shell."""
    job = only_job("0 3 * * * cd '/srv/my shop' && ./backup.sh --all\n")
    assert job.imported.name == "backup"
    fields = job.imported.fields
    assert (fields["command"], fields["dir"]) == ("./backup.sh --all", "/srv/my shop")


def test_percent_is_a_line_of_input() -> None:
    """What follows an unescaped % is stdin; an escaped one is a percent sign."""
    job = only_job("0 0 * * * date +\\%F | cat - /dev/stdin%Hello%INPUT\n")
    assert job.imported.fields["script"] == "{ date +%F | cat - /dev/stdin\n} <<'INPUT_'\nHello\nINPUT\nINPUT_\n"


def test_a_system_crontab_names_users() -> None:
    """The user is a label and a note: a worker runs the job as its own."""
    job = only_job("17 * * * * root run-parts /etc/cron.hourly\n", ReadOptions("UTC", system=True))
    assert job.imported.fields["labels"] == {"user": "root"}
    assert job.imported.fields["command"] == "run-parts /etc/cron.hourly"
    assert "as root" in job.imported.notes[0]


def test_reboot_is_on_start() -> None:
    """An entry without times runs when the machine starts; a second start waits for the first to end."""
    job = only_job("@reboot agent\n")
    assert job.imported.fields == {"on_start": True, "command": "agent"}
    assert [str(one.times) for one in job.definition.schedules] == ["on event (machine start)"]
    assert (job.verdict, job.imported.notes) == ("no times", [])


def test_mailto_mails_failures(tmp_path: Path) -> None:
    """A run that fails is mailed to everybody in MAILTO, by sendmail as cron does it; one that succeeds is not."""
    (tmp_path / "sendmail").write_text(f'#!/bin/sh\n{{ echo "$@"; cat; }} >> {tmp_path}/sent\n')
    (tmp_path / "sendmail").chmod(0o755)
    above = f"MAILTO=ops@example.com, root\nPATH={tmp_path}:/usr/bin:/bin\n"
    text = f"{above}0 3 * * * echo lost; exit 3\n0 4 * * * true\n"
    files, refused = build_job_files(imported(text), NO_DEFAULTS, START, START + YEAR)
    assert not refused
    with Tickwise(f"sqlite:///{tmp_path}/tickwise.db", allow_commands=True) as tw:
        for file in files:
            tw.schedules.add(name=file.imported.name, **{"schedule": "0 3 * * *", **file.imported.fields})
            tw.schedules.trigger(file.imported.name)
        tw.drain()
    assert (tmp_path / "sent").read_text() == (
        "-i -- ops@example.com root\nTo: ops@example.com, root\nSubject: echo failed\n\nexit code 3\n"
    )


def test_mail_that_goes_nowhere() -> None:
    """MAILTO="" asks for nothing, and no shell reads what is no list of addresses."""
    assert any("to ops" in note for note in imported("MAILTO=ops\n@daily a\n").notes)
    assert not any("mail" in note for note in imported('MAILTO=""\n@daily a\n').notes)
    odd = only_job("MAILTO=$(id)\n@daily a\n").imported
    assert ("on" in odd.fields, "MAILTO=$(id) is no list" in odd.notes[0]) == (False, True)


def test_cronie_settings() -> None:
    """CRON_TZ is the zone and RANDOM_DELAY the jitter, each with a note."""
    job = only_job("CRON_TZ=Asia/Tokyo\nRANDOM_DELAY=10\n0 3 * * * a\n")
    assert (job.imported.fields["timezone"], job.imported.fields["jitter"]) == ("Asia/Tokyo", "10m")
    assert len(job.imported.notes) == 2


def test_a_variable_that_would_be_read_differently_is_left_out() -> None:
    """A value with a reference of ours, and a name that is none, are left out with a note."""
    job = only_job("A=${params.x}\nB-C=1\nD=${HOME}\n0 3 * * * a\n")
    assert job.imported.fields["env"] == {"D": "${HOME}"}
    assert len(job.imported.notes) == 2


def test_bad_lines_hide_no_good_ones() -> None:
    """A line that cron refuses is named with its place, and the others are read."""
    found = imported("61 * * * * a\nhello\n@every 5m b\n0 3 * * * c\n0 0 30 2 * d\n* * * * *\n")
    files, refused = build_job_files(found, NO_DEFAULTS, START, START + YEAR)
    assert [file.imported.name for file in files] == ["c"]
    assert [each.place for each in refused] == ["tab:1", "tab:2", "tab:3", "tab:6", "tab:5"]


def test_equal_names_are_numbered() -> None:
    """Two entries of one program are two jobs, also where a disk ignores case."""
    names = [job.name for job in imported("0 1 * * * sync a\n0 2 * * * sync b\n0 3 * * * ./SYNC\n").jobs]
    assert names == ["sync", "sync-2", "SYNC-3"]


def test_the_proof_names_each_difference() -> None:
    """02:15 fires at the first instant after the gap, and once in the fold; cron's */15 follows the wall (S39)."""
    job = only_job("*/15 2 * * * poll\n")
    assert job.proof is not None
    assert [(str(each.day), each.change) for each in job.proof.differences] == [
        ("2027-03-28", "the clock skips 02:00 to 03:00"),
        ("2027-10-31", "the clock shows 02:00 to 03:00 twice"),
    ]
    assert [(len(each.theirs), len(each.ours)) for each in job.proof.differences] == [(0, 1), (4, 0)]


@settings(max_examples=40)
@given(entries, st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]))
def test_an_imported_entry_fires_as_before(entry: tuple[str, ...], timezone: str) -> None:
    """For any entry, our times are those of Debian's rules, but for days on which the clock changes."""
    found = imported(" ".join((*entry, "true")), ReadOptions(timezone))
    files, _ = build_job_files(found, NO_DEFAULTS, START + 80 * 86_400, START + 90 * 86_400)
    for file in files:
        assert file.proof is not None
        assert all(each.change for each in file.proof.differences)


@given(st.text(st.sampled_from("*/-,% \t\n@#=\"'\\$&|;<>{}x05aé\x00\r\x1b~"), max_size=120), st.booleans())
def test_any_text_gives_jobs_or_refusals(text: str, system: bool) -> None:
    """Whatever a file holds, each job is one that a node takes."""
    found = imported(f"{text}\n0 3 * * * {text}", ReadOptions("UTC", system=system))
    files, refused = build_job_files(found, NO_DEFAULTS, START, START + 86_400)
    assert all(job_file_lines(file, "cron") for file in files)
    assert all(each.problem for each in refused)
