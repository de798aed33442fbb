"""What every store refuses of tokens, audit entries and claims, and how it keeps them."""

from dataclasses import replace
from typing import Any

from ..core.errors import ConflictError, InputError
from ..core.payload import MAX_PAYLOAD, check_text, clip, decode, encode
from .checks import LONGEST_KEY, LONGEST_NAME, LONGEST_WORDS
from .records import MICRO, AccessRole, AuditEntry, Token

USED_EVERY = 60 * MICRO  # a token's use is noted at most so often
FORGOTTEN_AFTER = 86_400 * MICRO  # since a claim was made
FORGET_AT_ONCE = 100  # claims that are forgotten when one is made
LONGEST_VALUE = 65_536  # characters of JSON that an audit entry keeps of a value
_BEYOND = 1 << 62
_LONGEST_NOTE = 1_000


def askable(text: str | None) -> bool:
    """Whether there can be anything by this id, digest or subject: what cannot be kept was never kept."""
    try:
        check_text(text or "", "a name", LONGEST_KEY)
    except InputError:
        return False
    return True


def checked_token(token: Token, digest: str, now: int) -> Token:
    """The token as it is issued, if all of it can be kept."""
    for text, what, most in (
        (token.id, "the id of a token", LONGEST_KEY),
        (token.name, "the name of a token", LONGEST_NAME),
        (digest, "the digest of a token", LONGEST_KEY),
        *((scope, "a scope", LONGEST_KEY) for scope in token.scopes),
    ):
        if not check_text(text, what, most):
            raise InputError(f"{what} is empty: give one")
    if token.role not in list(AccessRole):
        raise InputError(f"the role of a token is {', '.join(AccessRole)}, not {str(token.role)[:60]!r}")
    if token.expires_at is not None and not 0 <= token.expires_at < _BEYOND:
        raise InputError(f"a token cannot expire at {token.expires_at:e}: give microseconds since 1970")
    return replace(token, role=AccessRole(token.role), created_at=now, revoked_at=None, used_at=None)


def taken(name: str, known: str) -> ConflictError:
    """Why a token is not issued: one that is there already has its name, or is the same."""
    if name == known:
        return ConflictError(f"there is a token named {name!r}: revoke it first, or choose another name")
    return ConflictError(f"the token {name!r} has the id or the secret of another: make a new one")


def no_token(token: str) -> InputError:
    return InputError(f"there is no token with the id {token[:60]!r}: `tickwise token list` shows them")


def is_stale(token: Token, now: int) -> bool:
    """Whether its use is to be noted again."""
    return token.used_at is None or token.used_at <= now - USED_EVERY


def checked_entry(entry: AuditEntry) -> AuditEntry:
    """The entry as it will be read back."""
    check_text(entry.who, "the name of who did it", LONGEST_WORDS)
    check_text(entry.action, "the name of an action", LONGEST_KEY)
    check_text(entry.subject, "the subject of an action", LONGEST_KEY)
    return entry._replace(before=_kept(entry.before), after=_kept(entry.after))


def _kept(value: Any) -> Any:
    try:
        text = encode(value, "the value")
    except InputError as unfit:
        return clip(f"not kept: {unfit}", _LONGEST_NOTE)
    if len(text) > LONGEST_VALUE:
        return f"not kept: the value has {len(text):,} characters of JSON"
    return decode(text)


def audit_number(after: str) -> int:
    """The id of the last entry of a page, as a number."""
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise InputError(f"{after[:60]!r} is not the key of a page: pass on what the page before gave")
    return int(after)


def check_claim(key: str, mark: str, seconds: int) -> None:
    check_text(key, "the key of a claim", LONGEST_KEY)
    check_text(mark, "the mark of a claim", LONGEST_WORDS)
    if not 0 < seconds * MICRO <= FORGOTTEN_AFTER:
        raise InputError(f"a claim is held for more than 0 seconds and at most a day, not {seconds}")


def check_answer(key: str, answer: str) -> None:
    check_text(key, "the key of a claim", LONGEST_KEY)
    check_text(answer, "the answer to a claim", MAX_PAYLOAD)
