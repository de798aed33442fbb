"""Tokens, audit log, idempotency claims and calendars over MongoDB.

A token that is not revoked has its name as `live_name`, which is unique. A claim's key is its `_id`: the second
insert fails, because another was first.
"""

from collections.abc import Sequence
from dataclasses import replace

from pymongo.errors import DuplicateKeyError

from ...core.payload import decode, encode
from ..access_contract import Access
from ..access_records import AccessRole, AuditEntry, AuditRow, CalendarRow, IdempotencyClaim, Token, VersionedText
from ..access_validation import CLAIM_LIFETIME, FORGET_BATCH_SIZE, is_use_due, token_conflict, unknown_token
from ..job_document import Document, present
from ..records import MICRO, Page
from .base import Mongo
from .moves import MongoMoves, move


async def _issue_token(mongo: Mongo, token: Token, digest: str) -> Token:
    new = replace(token, created_at=await mongo.now())
    kept = present({
        "_id": new.id, "name": new.name, "live_name": new.name, "digest": digest, "role": str(new.role),
        "scopes": list(new.scopes), "created_at": new.created_at, "expires_at": new.expires_at,
    })  # fmt: skip
    try:
        await mongo.tokens.insert_one(kept)
    except DuplicateKeyError:
        same = await mongo.tokens.find_one({"live_name": new.name}, {"name": 1})
        raise token_conflict(new.name, same["name"] if same else "") from None
    return new


def _token_of(kept: Document) -> Token:
    return Token(
        id=kept["_id"], name=kept["name"], role=AccessRole(kept["role"]), scopes=tuple(kept["scopes"]),
        created_at=kept["created_at"], expires_at=kept.get("expires_at"), revoked_at=kept.get("revoked_at"),
        used_at=kept.get("used_at"),
    )  # fmt: skip


async def _find_token(mongo: Mongo, digest: str) -> Token | None:
    found = await mongo.tokens.find_one({"digest": digest})
    if found is None:
        return None
    token, now = _token_of(found), await mongo.now()
    if not is_use_due(token, now):
        return token
    await mongo.tokens.update_one({"_id": token.id}, {"$max": {"used_at": now}})
    return replace(token, used_at=now)


async def _list_tokens(mongo: Mongo) -> tuple[Token, ...]:
    return tuple([_token_of(kept) async for kept in mongo.tokens.find().sort([("created_at", 1), ("_id", 1)])])


async def _revoke_token(mongo: Mongo, id_: str) -> Token:
    revoked = {"$set": {"revoked_at": await mongo.now()}, "$unset": {"live_name": ""}}
    await mongo.tokens.update_one({"_id": id_, "revoked_at": {"$exists": False}}, revoked)
    found = await mongo.tokens.find_one({"_id": id_})
    if found is None:
        raise unknown_token(id_)
    return _token_of(found)


async def _record_audit(mongo: Mongo, entries: Sequence[AuditEntry]) -> None:
    now, numbers = await mongo.now(), await mongo.numbers(len(entries), "audit")
    await mongo.audit.insert_many(
        {
            "_id": number, "at": now, "who": entry.who, "action": entry.action, "subject": entry.subject,
            "detail": encode({"before": entry.before, "after": entry.after}, "the values"),
        }
        for number, entry in zip(numbers, entries, strict=True)
    )  # fmt: skip


async def _read_audit(mongo: Mongo, subject: str | None, after: int | None, limit: int) -> Page[AuditRow]:
    which = present({"subject": subject, "_id": None if after is None else {"$lt": after}})
    rows = await mongo.audit.find(which).sort("_id", -1).limit(limit + 1).to_list()
    found = [
        AuditRow(
            id=str(row["_id"]), at=row["at"], who=row["who"], action=row["action"], subject=row["subject"],
            **decode(row["detail"]),
        )
        for row in rows[:limit]
    ]  # fmt: skip
    return Page(tuple(found), found[-1].id if len(rows) > limit else None)


async def _claim_key(mongo: Mongo, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
    now = await mongo.now()
    forgotten = {"claimed_at": {"$lt": now - CLAIM_LIFETIME}}
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
    old = mongo.claims.find(which, {"_id": 1}).sort("claimed_at").limit(FORGET_BATCH_SIZE)
    if keys := [claim["_id"] async for claim in old]:
        await mongo.claims.delete_many({"_id": {"$in": keys}, **which})


async def _answer_claim(mongo: Mongo, key: str, answer: str) -> None:
    await mongo.claims.update_one({"_id": key, "answer": {"$exists": False}}, {"$set": {"answer": answer}})


async def _find_text(mongo: Mongo, name: str) -> VersionedText | None:
    found = await mongo.texts.find_one({"_id": name})
    return VersionedText(found["version"], found["text"]) if found else None


async def _replace_text(mongo: Mongo, name: str, text: str, over: int) -> bool:
    if over:
        new = {"$set": {"version": over + 1, "text": text}}
        return bool((await mongo.texts.update_one({"_id": name, "version": over}, new)).matched_count)
    try:
        await mongo.texts.insert_one({"_id": name, "version": 1, "text": text})
    except DuplicateKeyError:
        return False
    return True


async def _list_calendars(mongo: Mongo) -> tuple[CalendarRow, ...]:
    found = mongo.calendars.find().sort("_id")
    return tuple([CalendarRow(each["_id"], each["text"], each["revision"]) async for each in found])


async def _keep_calendar_text(mongo: Mongo, name: str, text: str | None, over: int) -> bool:
    known, kept = {"_id": name, "revision": over}, {"text": text, "revision": over + 1}
    if text is None:
        return bool((await mongo.calendars.delete_one(known)).deleted_count)
    if over:
        return bool((await mongo.calendars.update_one(known, {"$set": kept})).matched_count)
    try:
        await mongo.calendars.insert_one({"_id": name, **kept})
    except DuplicateKeyError:
        return False
    return True


class MongoAccess(MongoMoves, Access):
    """Tokens, audit, claims and calendars over MongoDB."""

    _issue = move(_issue_token)
    _token = move(_find_token)
    tokens = move(_list_tokens)
    _revoke = move(_revoke_token)
    _record = move(_record_audit)
    _audit = move(_read_audit)
    _claim = move(_claim_key)
    _answer = move(_answer_claim)
    _text = move(_find_text)
    _replace_text = move(_replace_text)
    calendars = move(_list_calendars)
    _keep_calendar = move(_keep_calendar_text)
