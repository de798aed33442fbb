"""Tables by numbered migrations, each kept with its checksum; applied under a lock, all or none.

`compatible_from` is written by each migration: the oldest version of the schema whose programs can go on beside
it. So a rolling upgrade does not stop older nodes, and one that is too old says so instead of writing nonsense.
"""

import re
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from .driver import Driver, SchemaError
from .fleet import clock
from .statement import Dialect, Procedure, Statement

_TABLE = """
    CREATE TABLE IF NOT EXISTS tickwise_migrations (
        version bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, compatible_from bigint NOT NULL,
        applied_at bigint NOT NULL)
"""
_APPLIED = Statement("SELECT version, name, checksum, compatible_from FROM tickwise_migrations ORDER BY version")
_NOTE = Statement("""
    INSERT INTO tickwise_migrations (version, name, checksum, compatible_from, applied_at)
    VALUES (:version, :name, :checksum, :compatible_from, :now)
""")
COMPATIBLE_FROM = {1: 1, 2: 1, 3: 3, 4: 3}  # by version
_OF_LOGS = "LOGS."


class Migration(NamedTuple):
    """One step, as it is on disk."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return blake2b(self.text.encode(), digest_size=16).hexdigest()


def migrations() -> list[Migration]:
    folder = files(__package__) / "migrations"
    found = sorted((f.name, f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".sql"))
    return [Migration(int(name[:4]), name.removesuffix(".sql"), text) for name, text in found]


def statements(migration: Migration, dialect: Dialect, *, of_logs: bool = False) -> list[Statement]:
    """The statements of a migration, in the words of a dialect; only those about logs, if that is asked."""
    parts = re.sub(r"--[^\n]*", "", migration.text).split(";")
    return [
        Statement(_in_words_of(dialect, part.strip()))
        for part in parts if part.strip() and (_OF_LOGS in part or not of_logs)
    ]  # fmt: skip


def _in_words_of(dialect: Dialect, text: str) -> str:
    for word, other in dialect.schema_words.items():
        text = re.sub(word, other, text)
    return text


def upgrade(driver: Driver, known: list[Migration]) -> Procedure[tuple[str, ...]]:
    """Apply what is missing. Who comes second waits for the lock, and finds nothing to do."""
    if driver.upgrade_lock:
        yield driver.upgrade_lock()
    yield Statement(_TABLE)()
    applied = {row[0]: row for row in (yield _APPLIED())}
    _check_sums(applied, known)
    if problem := _too_new(applied, known):
        raise SchemaError(problem)
    logs_lost = driver.logs_lost and (yield driver.logs_lost())
    made = []
    now = yield from clock()
    for migration in known:
        again = migration.version in applied
        for statement in statements(migration, driver.dialect, of_logs=again) if logs_lost or not again else ():
            yield statement()
        if again:
            continue
        yield _NOTE(
            version=migration.version, name=migration.name, checksum=migration.checksum,
            compatible_from=COMPATIBLE_FROM[migration.version], now=now,
        )  # fmt: skip
        made.append(migration.name)
    return tuple(made)


def _check_sums(applied: dict[int, tuple[int, str, str, int]], known: list[Migration]) -> None:
    for migration in known:
        row = applied.get(migration.version)
        if row and row[2] != migration.checksum:
            raise SchemaError(
                f"migration {migration.name} was applied with another content: the tables were made by a "
                f"changed copy of "
                "Tickwise; install the version that made them, or restore a backup"
            )


def check(driver: Driver, known: list[Migration]) -> Procedure[tuple[str, ...]]:
    """What keeps this version from working with the tables."""
    applied = {row[0]: row for row in (yield _APPLIED())}
    problems = []
    try:
        _check_sums(applied, known)
    except SchemaError as error:
        problems.append(str(error))
    if missing := [migration.name for migration in known if migration.version not in applied]:
        problems.append(f"{', '.join(missing)} not applied yet: run `tickwise store upgrade`")
    elif driver.logs_lost and (yield driver.logs_lost()):
        problems.append("the file of the logs has lost its table: run `tickwise store upgrade` to make it anew")
    if problem := _too_new(applied, known):
        problems.append(problem)
    return tuple(problems)


def _too_new(applied: dict[int, tuple[int, str, str, int]], known: list[Migration]) -> str:
    newest = known[-1].version
    if max((row[3] for version, row in applied.items() if version > newest), default=0) <= newest:
        return ""
    return "the tables were upgraded by a newer version that this one cannot work beside: update this one"
