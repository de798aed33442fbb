"""Records and filters of the store that the API shows and asks for: its only way to them.

`Store` and its errors come from `app.stores`; the API imports nothing of `tickwise.stores` itself.
"""

from ..stores.access_records import AccessRole, AuditEntry, Token, split_scope
from ..stores.pages import all_pages
from ..stores.records import (
    MICRO,
    Changes,
    DecisionFilter,
    DecisionRow,
    Enqueue,
    JobRow,
    LogPart,
    Node,
    Page,
    PauseInterval,
    QueueLimit,
    Role,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
)
from ..stores.statistics import HourlyStats, RecentSlots

__all__ = [
    "MICRO",
    "AccessRole",
    "AuditEntry",
    "Changes",
    "DecisionFilter",
    "DecisionRow",
    "Enqueue",
    "HourlyStats",
    "JobRow",
    "LogPart",
    "Node",
    "Page",
    "PauseInterval",
    "QueueLimit",
    "RecentSlots",
    "Role",
    "RunFilter",
    "RunRow",
    "ScheduleFilter",
    "ScheduleRow",
    "StepReport",
    "Token",
    "all_pages",
    "split_scope",
]
