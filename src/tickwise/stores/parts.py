"""What modules that the contract of a store builds on need of a store."""

from typing import Protocol

from ..core.change import Change
from ..core.model import Schedule
from .access_contract import Access
from .insights_contract import Insights


class StoreParts(Protocol):
    """What is read and noted beside the moves."""

    insights: Insights
    access: Access

    async def now(self) -> int: ...


class ChangeableStore(StoreParts, Protocol):
    """A store whose schedules are changed, too."""

    async def change(self, schedule: str, change: Change) -> Schedule: ...
