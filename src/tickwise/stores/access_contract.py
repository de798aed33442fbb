"""What a store keeps beside jobs and runs: tokens, the audit log, idempotency claims, calendars, and named texts.

As in `Store`, a public method checks its arguments and calls a move, which has its name with an underscore.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from . import access_validation, pages, validation
from .access_records import AuditEntry, AuditRow, CalendarRow, IdempotencyClaim, Token, VersionedText
from .records import Page


class Access(ABC):
    """Tokens of the API, the audit log, claims of idempotency keys, and calendars.

    Names of tokens and calendars and keys of claims are unique keys of the store: of two processes that come at
    the same moment, one is first.
    """

    async def issue(self, token: Token, digest: str) -> Token:
        """Add a token, found by the digest of its secret; `created_at` is the store's now.

        Refused if a token that is not revoked has its name.
        """
        return await self._issue(access_validation.checked_token(token, digest), digest)

    async def token(self, digest: str) -> Token | None:
        """The token as it stands, revoked and expired ones too: the caller judges. Notes its use once a minute."""
        return await self._token(digest) if validation.can_exist(digest) else None

    @abstractmethod
    async def tokens(self) -> tuple[Token, ...]:
        """All that were ever issued, in the order they were."""

    async def revoke(self, token: str) -> Token:
        """Revoke the token of an id, for good; to do it again changes nothing."""
        if not validation.can_exist(token):
            raise access_validation.unknown_token(token)
        return await self._revoke(token)

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        """Add entries to the audit log. Of a value that is too large, or no JSON, only a note is kept."""
        checked = [access_validation.checked_entry(entry) for entry in entries]
        if checked:
            await self._record(checked)

    async def audit(
        self, subject: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[AuditRow]:
        """Newest first; of one subject, if that is given."""
        pages.check_page_size(limit)
        number = pages.page_number(after)
        return await self._audit(subject, number, limit) if validation.can_exist(subject) else Page(())

    async def claim(self, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
        """First come, first served. None: the key is the caller's now; else the claim that was first.

        A claim that stays unanswered for `seconds` is lost to the next caller. It is forgotten a day after it was
        made.
        """
        access_validation.check_claim(key, mark, seconds)
        return await self._claim(key, mark, seconds)

    async def answer(self, key: str, answer: str) -> None:
        """Keep the answer to a claim, for all later claims of the key; the first answer stays."""
        access_validation.check_answer(key, answer)
        await self._answer(key, answer)

    async def text(self, name: str) -> VersionedText | None:
        """What is kept under a name."""
        return await self._text(name) if validation.can_exist(name) else None

    async def replace_text(self, name: str, text: str, over: int) -> bool:
        """Keep a text under a name, if `over` is the version of what is there; 0 stands for nothing.

        False, and nothing changed, if it is another: somebody was faster, so read it again.
        """
        access_validation.check_named_text(name, text)
        return await self._replace_text(name, text, over)

    @abstractmethod
    async def calendars(self) -> tuple[CalendarRow, ...]:
        """All of them, by name; there are few."""

    async def keep_calendar(self, name: str, text: str | None, over: int) -> None:
        """Write the text of a calendar over a revision, 0 if there is none; without a text, delete it (S60).

        Refused unless that is its revision now: somebody else was first.
        """
        access_validation.check_calendar(name, text, over)
        if not await self._keep_calendar(name, text, over):
            raise access_validation.calendar_conflict(name)

    # The moves, with checked arguments.

    @abstractmethod
    async def _issue(self, token: Token, digest: str, /) -> Token: ...

    @abstractmethod
    async def _token(self, digest: str, /) -> Token | None: ...

    @abstractmethod
    async def _revoke(self, token: str, /) -> Token: ...

    @abstractmethod
    async def _record(self, entries: Sequence[AuditEntry], /) -> None: ...

    @abstractmethod
    async def _audit(self, subject: str | None, after: int | None, limit: int, /) -> Page[AuditRow]: ...

    @abstractmethod
    async def _claim(self, key: str, mark: str, seconds: int, /) -> IdempotencyClaim | None: ...

    @abstractmethod
    async def _answer(self, key: str, answer: str, /) -> None: ...

    @abstractmethod
    async def _text(self, name: str, /) -> VersionedText | None: ...

    @abstractmethod
    async def _replace_text(self, name: str, text: str, over: int, /) -> bool: ...

    @abstractmethod
    async def _keep_calendar(self, name: str, text: str | None, over: int, /) -> bool: ...
