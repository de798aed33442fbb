"""The files of `tickwise init`: each runs as it is, and says in comments what else there is."""

SETTINGS = """\
# Settings of Tickwise: every line is optional, and `tickwise config show` lists all of them.
# A setting may also be a variable, such as TICKWISE_TIMEZONE=Europe/Berlin, which goes before this file.

# Where everything is kept. For several machines: PostgreSQL, MySQL, MariaDB, MongoDB, Redis or Valkey.
# store = "sqlite:///.tickwise/tickwise.db"

# The time zone of schedules that name none.
# timezone = "Europe/Berlin"

# How many runs this machine executes at once.
# concurrency = 10

# How long finished runs and their logs are kept: 90 days or 10000 runs, whichever is more.
# keep = { days = 90, runs = 10000 }

# A program that is told of failures, lost runs and missed slots, as JSON on its standard input.
# notify_command = ["./notify.sh"]
"""
HELLO = """\
# Says hello every five seconds. Change it while `tickwise serve jobs` runs: it takes effect within a second.
description: Says hello
schedule: {every: 5s}
script: |
  #!/bin/sh
  echo "hello from slot $TICKWISE_SLOT"
keep: {runs: 100}
"""
DAILY = """\
# Once a day. `H` stands for a minute derived from the job's name, so that jobs do not all start at three sharp.
description: Lists the files of this folder every night
schedule: "H 3 * * *"
# timezone: Europe/Berlin         # else the one of tickwise.toml, else UTC
catchup: once                     # after an outage: one run, for the newest night that was missed
overlap: skip                     # if the last run is not over: skip the night, and record why
retry: {limit: 3, interval: 1m}
timeout: 10m
command: ls -l                    # `script:` for a shell script, `python: module:function`, or `steps:`
"""
APP = """\
\"""The jobs of this folder: run them with `tickwise serve app:tw --reload`.\"""

from tickwise import Tickwise

tw = Tickwise()


@tw.job({"every": "5s"})
def hello(run):
    print("hello from slot", run.slot)


@tw.job("H 3 * * *", catchup="once", overlap="skip", retry={"limit": 3, "interval": "1m"})  # once a night
def tidy(days: int = 30):
    print("deletes what is older than", days, "days")
"""
JOB_FILES = {"tickwise.toml": SETTINGS, "jobs/hello.yaml": HELLO, "jobs/daily.yaml": DAILY}
APP_FILES = {"tickwise.toml": SETTINGS, "app.py": APP}
