"""What a fire costs at least on MongoDB: its three writes by the bare driver, without an index or a decision.

A fire writes its plan to a log, moves a job's document, and inserts a run. Here each of the three is one command
for a batch, on documents of the same size, acknowledged as durably.
"""

from importlib import import_module

from ..mongodb import own_database
from .contender import Contender

_BATCH_SIZE = 200
_JOB, _RUN = {"text": 600 * "-"}, {"text": 450 * "-"}  # about as large as those of a store


class BareWrites(Contender):
    """Writes for `due` documents as a ticker would, and plans nothing."""

    name = "bare writes on MongoDB"

    def __init__(self, url: str, due: int) -> None:
        super().__init__(due)
        self._url = url
        self._fires = 0

    async def open(self) -> None:
        url = self.stack.enter_context(own_database(self._url))
        driver = import_module("pymongo")
        client = driver.AsyncMongoClient(url)
        self.stack.push_async_callback(client.close)
        database = client.get_default_database(write_concern=driver.WriteConcern("majority", j=True))
        self._jobs, self._runs, self._log = database["jobs"], database["runs"], database["log"]
        await self._jobs.insert_many([{"_id": number, **_JOB} for number in range(self.due)])

    async def prepare(self) -> None:
        await self._runs.delete_many({})
        await self._log.delete_many({})
        self._fires += 1

    async def work(self) -> None:
        for first in range(0, self.due, _BATCH_SIZE):
            numbers = list(range(first, min(first + _BATCH_SIZE, self.due)))
            runs = [{"_id": number, **_RUN} for number in numbers]
            await self._log.insert_one({"runs": runs})
            await self._jobs.update_many({"_id": {"$in": numbers}}, {"$set": {"moved": self._fires}})
            await self._runs.insert_many(runs, ordered=False)

    async def done(self) -> int:
        return int(await self._runs.count_documents({}))
