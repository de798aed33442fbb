"""The identity of a request, and connections that bring one with them.

A connection that has an identity carries it in the ASGI scope, which no header can set: a client inside this
process, and a user whom the kernel names at the other end of the unix socket.
"""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from ..app.records import AccessRole, split_scope

_SCOPE_KEY = "tickwise.identity"


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a request comes from, and what they may do and see."""

    name: str
    role: AccessRole
    scopes: tuple[str, ...] = ()  # patterns of job names; none: all jobs
    granted: tuple[str, ...] = ()  # all scopes, of an identity that was narrowed to some of them

    def narrowed(self, role: AccessRole) -> "Identity | None":
        """The same for what needs a role: with the scopes that give it; none if nothing does."""
        if not self.scopes:
            return self if self.role.includes(role) else None
        given = (split_scope(scope, self.role) for scope in self.scopes)
        patterns = tuple(pattern for scope_role, pattern in given if scope_role.includes(role))
        return replace(self, scopes=() if "*" in patterns else patterns, granted=self.scopes) if patterns else None

    def has(self, role: AccessRole, job: str) -> bool:
        """Whether it has the role, or more, for a job."""
        whole = replace(self, scopes=self.granted or self.scopes)
        narrowed = whole.narrowed(role)
        return narrowed is not None and narrowed.sees(job)

    def sees(self, job: str) -> bool:
        return not self.scopes or any(fnmatchcase(job, pattern) for pattern in self.scopes)


def identified(app: ASGIApp, identity: Identity) -> ASGIApp:
    """The application for clients inside this process, who all have this identity."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, **scope_identity(identity)}, receive, send)

    return call


def scope_identity(identity: Identity) -> dict[str, Any]:
    """The part of an ASGI scope that holds the identity of its connection."""
    return {_SCOPE_KEY: identity}


def connection_identity(scope: Mapping[str, Any]) -> Identity | None:
    """The identity that the connection has brought with it, if any."""
    found: Identity | None = scope.get(_SCOPE_KEY)
    return found


def local_identity(uid: int) -> Identity | None:
    """The identity of a local user: the server's own user and root are admins, as they could read its token."""
    if uid not in (0, os.geteuid()):
        return None
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"user {uid}"
    return Identity(name, AccessRole.ADMIN)
