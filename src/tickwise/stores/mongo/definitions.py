"""Texts of definitions over MongoDB."""

from collections.abc import Mapping, Sequence
from typing import Any

from pymongo import UpdateOne
from pymongo.asynchronous.collection import AsyncCollection

from ..digest_cache import DigestCache


class MongoDefinitions(DigestCache):
    """A collection of texts by their digests."""

    def __init__(self, definitions: AsyncCollection[dict[str, Any]]) -> None:
        super().__init__()
        self._definitions = definitions

    async def _fetch(self, digests: Sequence[str]) -> Mapping[str, str]:
        found = await self._definitions.find({"_id": {"$in": list(digests)}}).to_list()
        return {each["_id"]: each["body"] for each in found}

    async def _write(self, bodies: Mapping[str, str]) -> None:
        await self._definitions.bulk_write(
            [UpdateOne({"_id": digest}, {"$set": {"body": body}}, upsert=True) for digest, body in bodies.items()],
            ordered=False,
        )
