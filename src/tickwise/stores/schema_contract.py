"""What a store promises of its schema, and of what its server keeps."""

from abc import ABC, abstractmethod
from typing import NamedTuple


class Durability(NamedTuple):
    """How a server is set to keep what it was told, and what its crash may lose; the loss is empty if nothing."""

    settings: str
    loss: str


class Schema(ABC):
    """Installs and upgrades a store."""

    @abstractmethod
    async def upgrade(self) -> tuple[str, ...]:
        """Bring the store to this version, under a lock; the names of the migrations that were applied."""

    @abstractmethod
    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:
        """What is wrong with the store, one sentence each; empty if all is well.

        A thorough check reads everything where a file may be damaged, so it takes as long as that is.
        """

    async def durability(self) -> Durability | None:
        """What a crash of the server may lose; none if that is up to the store alone, and nothing."""
        return None
