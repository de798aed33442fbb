"""The checks of tokens, audit entries, claims and calendars, and how long a store keeps them."""

from dataclasses import replace
from typing import Any

from ..core.definition import check_name
from ..core.errors import ConflictError, InputError
from ..core.payload import MAX_PAYLOAD, check_text, clip, decode, encode
from .access_records import AccessRole, AuditEntry, Token, split_scope
from .records import MICRO
from .validation import LONGEST_KEY, LONGEST_NAME, LONGEST_WORDS

CLAIM_LIFETIME = 86_400 * MICRO  # after that a claim is forgotten
FORGET_BATCH_SIZE = 100  # old claims that are forgotten when a new one is made
_USE_INTERVAL = 60 * MICRO  # a token's use is noted at most so often
_MAX_EXPIRY = 1 << 62
_LONGEST_VALUE = 65_536  # characters of JSON that an audit entry keeps of a value
_LONGEST_NOTE = 1_000


def checked_token(token: Token, digest: str) -> Token:
    """A new token, if all of it can be stored; the store adds when it was created."""
    for text, what, longest in (
        (token.id, "the id of a token", LONGEST_KEY),
        (token.name, "the name of a token", LONGEST_NAME),
        (digest, "the digest of a token", LONGEST_KEY),
        *((scope, "a scope", LONGEST_KEY) for scope in token.scopes),
    ):
        if not check_text(text, what, longest):
            raise InputError(f"{what} is empty: give one")
    if token.role not in list(AccessRole):
        raise InputError(f"the role of a token is {', '.join(AccessRole)}, not {str(token.role)[:60]!r}")
    if token.role == AccessRole.ADMIN and token.scopes:
        raise InputError(
            "an admin decides what is executed, and so can do everything: give scopes to an operator or a viewer",
            field="scopes",
        )
    role = AccessRole(token.role)
    if not all(role.includes(split_scope(scope, role)[0]) for scope in token.scopes):
        raise InputError(f"a token with the role {role} has no scope of a higher role", field="scopes")
    if token.expires_at is not None and not 0 <= token.expires_at < _MAX_EXPIRY:
        raise InputError(f"a token cannot expire at {token.expires_at:e}: give microseconds since 1970")
    return replace(token, role=role, revoked_at=None, used_at=None)


def token_conflict(name: str, known: str) -> ConflictError:
    """Why a token is not issued: one that is there already has its name, or is the same."""
    if name == known:
        return ConflictError(f"there is a token named {name!r}: revoke it first, or choose another name")
    return ConflictError(f"the token {name!r} has the id or the secret of another: make a new one")


def unknown_token(token: str) -> InputError:
    return InputError(f"there is no token with the id {token[:60]!r}: `tickwise token list` shows them")


def is_use_due(token: Token, now: int) -> bool:
    """Whether the use of a token is to be noted again."""
    return token.used_at is None or token.used_at <= now - _USE_INTERVAL


def checked_entry(entry: AuditEntry) -> AuditEntry:
    """The entry as it will be read back."""
    check_text(entry.who, "the name of who did it", LONGEST_WORDS)
    check_text(entry.action, "the name of an action", LONGEST_KEY)
    check_text(entry.subject, "the subject of an action", LONGEST_KEY)
    return entry._replace(before=_checked_value(entry.before), after=_checked_value(entry.after))


def _checked_value(value: Any) -> Any:
    try:
        text = encode(value, "the value")
    except InputError as unfit:
        return clip(f"not kept: {unfit}", _LONGEST_NOTE)
    if len(text) > _LONGEST_VALUE:
        return f"not kept: the value has {len(text):,} characters of JSON"
    return decode(text)


def check_claim(key: str, mark: str, seconds: int) -> None:
    check_text(key, "the key of a claim", LONGEST_KEY)
    check_text(mark, "the mark of a claim", LONGEST_WORDS)
    if not 0 < seconds * MICRO <= CLAIM_LIFETIME:
        raise InputError(f"a claim is held for more than 0 seconds and at most a day, not {seconds}")


def check_answer(key: str, answer: str) -> None:
    check_text(key, "the key of a claim", LONGEST_KEY)
    check_text(answer, "the answer to a claim", MAX_PAYLOAD)


def check_named_text(name: str, text: str) -> None:
    check_text(name, "the name of a text", LONGEST_KEY)
    check_text(text, "a text", MAX_PAYLOAD)


def check_calendar(name: str, text: str | None, over: int) -> None:
    check_name(name, "the name of a calendar")
    if text is not None:
        check_text(text, "the text of a calendar", MAX_PAYLOAD)
    if over < 0 or (text is None and over == 0):
        raise InputError(f"there is no revision {over} of a calendar: give the one that was read")


def calendar_conflict(name: str) -> ConflictError:
    return ConflictError(f"the calendar {name} was changed by somebody else meanwhile: look at it and try again")
