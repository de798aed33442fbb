"""Fills a SQL store in seconds with very many schedules and runs, as a busy fleet would leave it.

600 jobs are defined through the store; the others are copies of their rows. Each job has one schedule that fires
once an hour, spread over the hour, and has a run at each of its past slots. The next slots are real: a server that
is started on the store continues from there. One run in a hundred failed and one in fifty was tried twice; one in
ten thousand was lost, and as many were started by hand. One schedule in a hundred skipped each second slot.
"""
# ruff: noqa: S608  (the statements are our own)

import asyncio
import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

from tickwise.core.cron import parse
from tickwise.core.definition import Command, JobDefinition, ScheduleDefinition, Step
from tickwise.stores.records import MICRO
from tickwise.stores.url import open_store

from .postgres import connection, vacuum

KINDS = tuple("backup cleanup etl export health index invoice mail report sync".split())
RARE_QUEUE = "gpu"
_TEMPLATES, _HOUR = 600, 3_600
_TEMPLATE_INTERVAL = _HOUR // _TEMPLATES  # seconds from the slots of one template to those of the next
_PRAGMAS = "PRAGMA journal_mode = OFF; PRAGMA cache_size = -500000; PRAGMA temp_store = MEMORY;"
_NEXT_IDS = """
    SELECT setval(pg_get_serial_sequence('tickwise_jobs', 'id'), max(id)) FROM tickwise_jobs;
    SELECT setval(pg_get_serial_sequence('tickwise_schedules', 'id'), max(id)) FROM tickwise_schedules;
"""
_COPY_ROWS = """
    CREATE TEMP TABLE copied AS
        WITH RECURSIVE numbers(n) AS (
            SELECT {templates} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {schedules})
        SELECT n, t.* FROM numbers JOIN {table} AS t ON t.id = n % {templates} + 1 WHERE n < {schedules};
    UPDATE copied SET id = n + 1,
        name = substr(name, 1, length(name) - 5) || substr(CAST(100000 + n AS text), 2);
    ALTER TABLE copied DROP COLUMN n;
    INSERT INTO {table} SELECT * FROM copied;
    DROP TABLE copied;
"""
_SLOT = f"{{hour}} + (id - 1) % {_TEMPLATES} * {_TEMPLATE_INTERVAL}"  # in the current hour, past or not
_NEXT = f"{_SLOT} + CASE WHEN {_SLOT} <= {{now}} THEN {_HOUR} ELSE 0 END"
_RESCHEDULE = f"""
    UPDATE tickwise_schedules SET job_id = id, wake_at = {_NEXT}, runs_made = {{hours}}, "cursor" = {{now}};
    UPDATE tickwise_schedules SET last_slot = wake_at - {_HOUR};
    DELETE FROM tickwise_job_state;
    INSERT INTO tickwise_job_state (job_id, revision, wake_at, idle, local, guarded, waiting, held, pause_seen)
        SELECT id, 1, wake_at, FALSE, FALSE, FALSE, FALSE, FALSE, 0 FROM tickwise_schedules;
"""
_SLOTS = f"""
    CREATE TEMP TABLE slots AS
        WITH RECURSIVE hours(back) AS (SELECT 0 UNION ALL SELECT back + 1 FROM hours WHERE back < {{hours}})
        SELECT id AS schedule, definition_id AS times, (id * 7919 + back * 104729) % 10000 AS luck,
            id % 100 = 7 AND back % 2 = 1 AS skipped, {_SLOT} - back * {_HOUR} AS slot
        FROM hours CROSS JOIN tickwise_schedules;
    DELETE FROM slots WHERE slot <= {{now}} - {{hours}} * {_HOUR} OR slot > {{now}};
"""
_STATE = """CASE WHEN luck < 100 THEN 'failed' WHEN luck < 130 THEN 'cancelled' WHEN luck < 131 THEN 'lost'
    ELSE 'succeeded' END"""
_RUNS = f"""
    INSERT INTO tickwise_runs (job_id, schedule_id, slot, trigger_name, state, definition_id,
        schedule_definition_id, queue, priority, requires, due_at, created_at, claimed_by, auto_remove, node,
        attempt, failures, losses, cancelling, started_at, finished_at, error)
    SELECT j.id, CASE WHEN luck <> 140 THEN schedule END, CASE WHEN luck <> 140 THEN slot END,
        CASE WHEN luck = 140 THEN 'manual' ELSE 'schedule' END, {_STATE},
        j.definition_id, times, queue, priority, requires, slot * {MICRO}, slot * {MICRO} + 20000, 'bulk', FALSE,
        'bulk', CASE WHEN luck BETWEEN 200 AND 399 THEN 2 ELSE 1 END, 0, 0, FALSE, slot * {MICRO} + 60000,
        slot * {MICRO} + 60000 + luck * 3000,
        CASE WHEN luck < 20 THEN 'LedgerMismatch: payment ' || schedule || ' has no entry'
            WHEN luck < 100 OR luck = 130 THEN 'exit status 1' END
    FROM slots JOIN tickwise_jobs AS j ON j.id = schedule WHERE NOT skipped ORDER BY slot, schedule;
"""
_DECISIONS = f"""
    INSERT INTO tickwise_decisions (schedule_id, first_slot, reason, last_slot, slots, made_at, extended_at)
    SELECT schedule, slot, 'overlap', slot, 1, slot * {MICRO}, slot * {MICRO} FROM slots WHERE skipped;
    DROP TABLE slots;
"""


async def fill_store(url: str, schedules: int, runs: int) -> None:
    """Create a store with at least 600 schedules, and runs of so many hours that they are about so many."""
    store = open_store(url)
    await store.schema.upgrade()
    await asyncio.gather(*(store.define(_template(number), "bulk") for number in range(_TEMPLATES)))
    now = await store.now() // MICRO
    values = {
        "templates": _TEMPLATES, "schedules": schedules, "hours": runs // schedules, "now": now,
        "hour": now - now % _HOUR,
    }  # fmt: skip
    await store.close()
    copies = "".join(_COPY_ROWS.replace("{table}", table) for table in ("tickwise_jobs", "tickwise_schedules"))
    await _execute(url, (copies + _RESCHEDULE + _SLOTS + _RUNS + _DECISIONS).format(**values))


async def _execute(url: str, script: str) -> None:
    if url.startswith("postgresql"):
        async with connection(url) as connected:
            await connected.execute(script + _NEXT_IDS)
        await vacuum(url)
        return
    with closing(sqlite3.connect(urlsplit(url).path)) as database:
        database.executescript(_PRAGMAS + script)


def _template(number: int) -> JobDefinition:
    minute, second = divmod(number * _TEMPLATE_INTERVAL, 60)
    kind, text = KINDS[number % len(KINDS)], f"{second} {minute} * * * *"
    name = f"{kind}-{number:05}"
    schedule = ScheduleDefinition(name, name, parse(text), text)
    queue = RARE_QUEUE if number % 100 == 3 else "default"
    step = Step(kind, Command(("true",)))
    return JobDefinition(name, (step,), (schedule,), labels={"kind": kind}, queue=queue)
