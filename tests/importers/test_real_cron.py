"""Debian's cron itself, under libfaketime over both changes of the clock, fires as `DebianRules` says."""

import os
import shutil
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tickwise.core.cron.zone import zone
from tickwise.importers.wall_clock import DEBIAN, DebianRules, read_fields

ZONE = "Europe/Berlin"
SPEED = 60  # a minute of cron's clock is a second of ours
ENTRIES = {
    "starred": "*/15 2 * * *",
    "fixed": "0,30 2 * * *",
    "hourly": "15 * * * *",
    "later": "10 3 * * *",
    "range": "0-59/7 2-3 * * *",
    "steps": "20 */2 * * *",
}
IN_A_NAMESPACE = """
set -e
mount -t tmpfs none /var/spool/cron
mkdir /var/spool/cron/crontabs
mount -t tmpfs none /etc/cron.d
mount --bind /dev/null /etc/crontab
mount -t tmpfs none /run
cp "$1/tab" /var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
date +%s.%N > "$1/begun"
TZ="$2" timeout --signal=KILL "$4" faketime -f "@$3 x60" cron -f || true
"""


@pytest.mark.parametrize(
    ("start", "minutes"),
    [(datetime(2027, 3, 28, 0, 50, 30, tzinfo=UTC), 90), (datetime(2027, 10, 30, 23, 50, 30, tzinfo=UTC), 150)],
    ids=["gap", "fold"],
)
def test_real_cron_fires_as_the_rules_say(tmp_path: Path, start: datetime, minutes: int) -> None:
    """Each entry runs in the minutes that the rules name, and as often in each of them (S39)."""
    assert os.geteuid() == 0, "cron reads its own spool only: run this as root, in a namespace of its own"
    assert all(map(shutil.which, ("cron", "faketime", "unshare"))), "install cron, faketime and util-linux"
    lines = [f"{text} date +\\%s.\\%N >> {tmp_path}/{name}" for name, text in ENTRIES.items()]
    (tmp_path / "tab").write_text("\n".join(['MAILTO=""', *lines, ""]))
    local = start.astimezone(zone(ZONE).tzinfo)
    arguments = (tmp_path, ZONE, f"{local:%Y-%m-%d %H:%M:%S}", str(minutes))
    subprocess.run(["/usr/bin/unshare", "--mount", "sh", "-c", IN_A_NAMESPACE, "sh", *arguments], check=True)
    begun, first = float((tmp_path / "begun").read_text()), int(start.timestamp())
    end = first + 60 * (minutes - 3)  # cron is killed a little later
    for name, text in ENTRIES.items():
        ran = (tmp_path / name).read_text().split() if (tmp_path / name).exists() else []
        seconds = [(first + int((float(at) - begun) * SPEED)) // 60 * 60 for at in ran]
        rules = DebianRules(read_fields(text.split(), DEBIAN), zone(ZONE).tzinfo)
        assert Counter(at for at in seconds if at < end) == Counter(rules.fires(first, end)), name
