"""Credentials, audit entries and claimed keys, as they go into a store and come out of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple


class AccessRole(StrEnum):
    """How much a token lets its bearer do; each includes those before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "AccessRole") -> bool:
        """Whether this role may do what the other may."""
        return _ROLES.index(self) >= _ROLES.index(other)


_ROLES = tuple(AccessRole)


def split_scope(scope: str, role: AccessRole) -> tuple[AccessRole, str]:
    """The role that a scope gives, and its pattern. `viewer:etl-*` names the role; else it is the token's."""
    named, _, pattern = scope.partition(":")
    return (AccessRole(named), pattern) if pattern and named in _ROLES else (role, scope)


@dataclass(frozen=True, slots=True)
class Token:
    """A credential of the API. Its secret is not stored, only the digest of it."""

    id: str
    name: str  # unique among tokens that are not revoked
    role: AccessRole
    scopes: tuple[str, ...] = ()  # patterns of job names, such as `etl-*` or `viewer:*`; none for all
    created_at: int = 0
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = None  # to the minute


class AuditEntry(NamedTuple):
    """An action of a person or a program: its subject, and the JSON values before and after."""

    who: str
    action: str
    subject: str
    before: Any = None
    after: Any = None


class AuditRow(NamedTuple):
    """An entry of the audit log."""

    id: str
    at: int
    who: str
    action: str
    subject: str
    before: Any = None
    after: Any = None


class VersionedText(NamedTuple):
    """A text that a store keeps under a name, and how often it was written."""

    version: int
    text: str


class IdempotencyClaim(NamedTuple):
    """The first claim of a key, and its answer, if there is one yet."""

    mark: str
    answer: str | None = None


class CalendarRow(NamedTuple):
    """A calendar as text, and how often it was written: who changes it says which revision was read."""

    name: str
    text: str
    revision: int
