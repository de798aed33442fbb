"""Tables are made by numbered migrations, each recorded with its checksum; applied under a lock, all or none.

The first migration is `schema.sql`, whole. Later ones are files beside it, in the order of `_FILES`.

`compatible_from` is the oldest schema whose programs can go on beside a migration. So a rolling upgrade does not
stop older nodes, and a program that is too old says so instead of writing wrong rows.
"""

from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

from .dialect import Dialect
from .driver import Driver, SchemaError
from .fleet import clock
from .statement import Procedure, Statement

_TABLE = """
    CREATE TABLE IF NOT EXISTS tickwise_migrations (
        version bigint PRIMARY KEY, name {short} NOT NULL, checksum {short} NOT NULL,
        compatible_from bigint NOT NULL, applied_at bigint NOT NULL) {plain}
"""
_APPLIED = Statement("SELECT version, name, checksum, compatible_from FROM tickwise_migrations ORDER BY version")
_NOTE = Statement("""
    INSERT INTO tickwise_migrations (version, name, checksum, compatible_from, applied_at)
    VALUES (:version, :name, :checksum, :compatible_from, :now)
""")
_FILES = {"schema.sql": 1}  # in order, each with its compatible_from; what was released is never changed
_LOGS = "{logs}"


class Migration(NamedTuple):
    """One step, as it is on disk."""

    version: int
    name: str
    text: str
    compatible_from: int

    @property
    def checksum(self) -> str:
        return blake2b(self.text.encode(), digest_size=16).hexdigest()


def migrations() -> list[Migration]:
    return [
        Migration(
            version, f"{version:04}_{file.removesuffix('.sql')}", (files(__package__) / file).read_text("utf-8"),
            compatible_from,
        )
        for version, (file, compatible_from) in enumerate(_FILES.items(), 1)
    ]  # fmt: skip


def statements(migration: Migration, dialect: Dialect, *, only_logs: bool = False) -> list[Statement]:
    """The statements of a migration, in the words of a dialect; only those about logs, if that is wanted."""
    text = "\n".join(line.partition("--")[0] for line in migration.text.splitlines())
    wanted = (part.format_map(dialect.schema_words) for part in text.split(";") if _LOGS in part or not only_logs)
    texts = (each.strip() for part in wanted for each in part.split(";"))
    return [Statement(each) for each in texts if each and not (each.startswith("/*") and each.endswith("*/"))]


def upgrade(driver: Driver, known: list[Migration]) -> Procedure[tuple[str, ...]]:
    """Apply what is missing. A second upgrade waits for the lock, and finds nothing to do."""
    if driver.upgrade_lock:
        yield driver.upgrade_lock()
    yield Statement(_TABLE.format_map(driver.dialect.schema_words))()
    applied = {row[0]: row for row in (yield _APPLIED())}
    _check_sums(applied, known)
    if problem := _too_new(applied, known):
        raise SchemaError(problem)
    logs_lost = driver.logs_lost and (yield driver.logs_lost())
    made = []
    now = yield from clock()
    for migration in known:
        again = migration.version in applied
        for statement in statements(migration, driver.dialect, only_logs=again) if logs_lost or not again else ():
            yield statement()
        if again:
            continue
        yield _NOTE(
            version=migration.version, name=migration.name, checksum=migration.checksum,
            compatible_from=migration.compatible_from, now=now,
        )  # fmt: skip
        made.append(migration.name)
    return tuple(made)


def _check_sums(applied: dict[int, tuple[int, str, str, int]], known: list[Migration]) -> None:
    for migration in known:
        row = applied.get(migration.version)
        if row and row[2] != migration.checksum:
            raise SchemaError(
                f"migration {migration.name} was applied with another content: the tables were made by a changed "
                "copy of Tickwise; install the version that made them, or restore a backup"
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
