"""What is wrong with the settings of a MySQL or MariaDB server, or with the tables there."""

import re

from .mysql_tickets import held_for_long
from .statement import Procedure, Statement

_SETTINGS = Statement("SELECT version(), @@log_bin, @@binlog_format, @@max_allowed_packet")
_TABLES = Statement("""
    SELECT table_name, engine, table_collation FROM information_schema.tables
    WHERE table_schema = database() AND table_name LIKE 'tickwise\\_%%' AND table_type = 'BASE TABLE'
        AND (engine <> :engine OR table_collation NOT LIKE 'utf8mb4%%bin') ORDER BY table_name
""")
_OLDEST = {"MariaDB": (10, 6, 0), "MySQL": (8, 0, 19)}
_LEAST_PACKET = 4 << 20  # bytes: the parameters of a run may have 1 MiB, and are escaped


def settings_at_fault() -> Procedure[list[str]]:
    """One sentence for each, with what to do."""
    version, has_log, log_format, packet = (yield _SETTINGS())[0]
    found = []
    kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
    if tuple(map(int, re.findall(r"\d+", version)[:3])) < _OLDEST[kind]:
        found.append(f"{kind} {version} is too old: update it to {'.'.join(map(str, _OLDEST[kind]))} or later")
    if has_log and log_format == "STATEMENT":
        found.append(
            "binlog_format is STATEMENT, which READ COMMITTED cannot be written with: set it to ROW or MIXED"
        )
    if packet < _LEAST_PACKET:
        found.append(f"max_allowed_packet is {packet} bytes: set it to {_LEAST_PACKET} or more")
    for table, engine, collation in (yield _TABLES(engine="InnoDB")):
        found.append(
            f"the table {table} has the engine {engine} and the collation {collation}, and needs InnoDB and a "
            "utf8mb4 collation of code points, as `tickwise store upgrade` makes it: restore a backup with them"
        )
    return [*found, *(yield from held_for_long())]
