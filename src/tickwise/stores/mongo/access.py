"""Tokens, audit and claims over MongoDB.

A token that is not revoked has its name as `live_name`, which is unique. A claim's key is its `_id`: who would
insert it a second time finds that somebody was first.
"""

from collections.abc import Sequence
from dataclasses import replace

from pymongo.errors import DuplicateKeyError

from ...core.payload import decode, encode
from .. import validation
from ..contract import Access
from ..records import MICRO, AccessRole, AuditEntry, AuditRow, IdempotencyClaim, Page, Token
from ..validation import page_size
from .base import Document, Mongo, move, present


class MongoAccess(Access):
    """Who may come in."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def issue(self, token: Token, digest: str) -> Token:
        return await move(self._mongo, _issue, token, digest)

    async def token(self, digest: str) -> Token | None:
        return await move(self._mongo, _token, digest) if validation.askable(digest) else None

    async def tokens(self) -> tuple[Token, ...]:
        return await move(self._mongo, _tokens)

    async def revoke(self, token: str) -> Token:
        if not validation.askable(token):
            raise validation.no_token(token)
        return await move(self._mongo, _revoke, token)

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        await move(self._mongo, _record, [validation.checked_entry(entry) for entry in entries])

    async def audit(
        self, subject: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[AuditRow]:
        before = None if after is None else {"$lt": validation.audit_number(after)}
        which = present({"subject": subject, "_id": before})
        return (
            await move(self._mongo, _audit, which, page_size(limit)) if validation.askable(subject) else Page(())
        )

    async def claim(self, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
        validation.check_claim(key, mark, seconds)
        return await move(self._mongo, _claim, key, mark, seconds)

    async def answer(self, key: str, answer: str) -> None:
        validation.check_answer(key, answer)
        await move(self._mongo, _answer, key, answer)


async def _issue(mongo: Mongo, token: Token, digest: str) -> Token:
    new = validation.checked_token(token, digest, await mongo.now())
    kept = present({
        "_id": new.id, "name": new.name, "live_name": new.name, "digest": digest, "role": str(new.role),
        "scopes": list(new.scopes), "created_at": new.created_at, "expires_at": new.expires_at,
    })  # fmt: skip
    try:
        await mongo.tokens.insert_one(kept)
    except DuplicateKeyError:
        same = await mongo.tokens.find_one({"live_name": new.name}, {"name": 1})
        raise validation.taken(new.name, same["name"] if same else "") from None
    return new


def _token_of(kept: Document) -> Token:
    return Token(
        kept["_id"], kept["name"], AccessRole(kept["role"]), tuple(kept["scopes"]), kept["created_at"],
        kept.get("expires_at"), kept.get("revoked_at"), kept.get("used_at"),
    )  # fmt: skip


async def _token(mongo: Mongo, digest: str) -> Token | None:
    found = await mongo.tokens.find_one({"digest": digest})
    if found is None:
        return None
    token, now = _token_of(found), await mongo.now()
    if not validation.is_stale(token, now):
        return token
    await mongo.tokens.update_one({"_id": token.id}, {"$max": {"used_at": now}})
    return replace(token, used_at=now)


async def _tokens(mongo: Mongo) -> tuple[Token, ...]:
    return tuple([_token_of(kept) async for kept in mongo.tokens.find().sort([("created_at", 1), ("_id", 1)])])


async def _revoke(mongo: Mongo, id_: str) -> Token:
    revoked = {"$set": {"revoked_at": await mongo.now()}, "$unset": {"live_name": ""}}
    await mongo.tokens.update_one({"_id": id_, "revoked_at": {"$exists": False}}, revoked)
    found = await mongo.tokens.find_one({"_id": id_})
    if found is None:
        raise validation.no_token(id_)
    return _token_of(found)


async def _record(mongo: Mongo, entries: Sequence[AuditEntry]) -> None:
    if not entries:
        return
    now, numbers = await mongo.now(), await mongo.numbers(len(entries), "audit")
    await mongo.audit.insert_many(
        {
            "_id": number, "at": now, "who": entry.who, "action": entry.action, "subject": entry.subject,
            "detail": encode({"before": entry.before, "after": entry.after}, "the values"),
        }
        for number, entry in zip(numbers, entries, strict=True)
    )  # fmt: skip


async def _audit(mongo: Mongo, which: Document, most: int) -> Page[AuditRow]:
    rows = await mongo.audit.find(which).sort("_id", -1).limit(most + 1).to_list()
    found = [
        AuditRow(str(row["_id"]), row["at"], row["who"], row["action"], row["subject"], **decode(row["detail"]))
        for row in rows[:most]
    ]
    return Page(tuple(found), found[-1].id if len(rows) > most else None)


async def _claim(mongo: Mongo, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
    now = await mongo.now()
    forgotten = {"claimed_at": {"$lt": now - validation.FORGOTTEN_AFTER}}
    await _forget(mongo, forgotten)
    free = [forgotten, {"answer": {"$exists": False}, "until": {"$lte": now}}]
    mine = {"mark": mark, "claimed_at": now, "until": now + seconds * MICRO}
    while True:
        try:
            await mongo.claims.update_one(
                {"_id": key, "$or": free}, {"$set": mine, "$unset": {"answer": ""}}, upsert=True
            )
        except DuplicateKeyError:
            if known := await mongo.claims.find_one({"_id": key}):  # unless it was forgotten at this very moment
                return IdempotencyClaim(known["mark"], known.get("answer"))
        else:
            return None


async def _forget(mongo: Mongo, which: Document) -> None:
    old = mongo.claims.find(which, {"_id": 1}).sort("claimed_at").limit(validation.FORGET_AT_ONCE)
    if keys := [claim["_id"] async for claim in old]:
        await mongo.claims.delete_many({"_id": {"$in": keys}, **which})


async def _answer(mongo: Mongo, key: str, answer: str) -> None:
    await mongo.claims.update_one({"_id": key, "answer": {"$exists": False}}, {"$set": {"answer": answer}})
