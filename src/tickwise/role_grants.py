"""Which roles the groups of a person give, as the settings say; a person of no such group has no role.

    [oidc.roles]
    admin = ["platform"]
    operator = ["etl", {group = "team-a", jobs = ["team-a.*"]}]
    viewer = ["*"]  # everybody who can sign in

A role may be limited to jobs with certain names, but for an admin, who decides what is executed and so can do
everything.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .core.errors import InputError, did_you_mean, nearest_word
from .stores.access_records import AccessRole

EVERYBODY = "*"
_PATTERN = re.compile(r"[A-Za-z0-9._*?\-]{1,100}", re.ASCII)
_ENTRY = 'a name of a group, or {group = "team-a", jobs = ["team-a.*"]}'


class GrantedRole(NamedTuple):
    """What a person may do: the highest role, and scopes as those of a token."""

    role: AccessRole
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """A role for the people of a group, on jobs with these names."""

    role: AccessRole
    group: str
    jobs: tuple[str, ...] = ()  # patterns; none: all jobs


def granted_role(grants: Collection[RoleGrant], groups: Collection[str]) -> GrantedRole | None:
    """What a person of these groups may do; none: nothing."""
    given = [grant for grant in grants if grant.group == EVERYBODY or grant.group in groups]
    highest = next((role for role in reversed(AccessRole) if any(grant.role is role for grant in given)), None)
    if highest is None:
        return None
    if any(grant.role is highest and not grant.jobs for grant in given):
        return GrantedRole(highest, ())
    return GrantedRole(highest, tuple(dict.fromkeys(_scopes(given, highest))))


def _scopes(grants: Collection[RoleGrant], highest: AccessRole) -> Iterator[str]:
    for grant in grants:
        for pattern in grant.jobs or (EVERYBODY,):
            yield pattern if grant.role is highest else f"{grant.role}:{pattern}"


def read_grants(given: Any) -> tuple[RoleGrant, ...]:
    """The table `roles`: for each role a list of groups."""
    if not isinstance(given, Mapping) or not given:
        raise InputError('roles: write a table, such as roles = {admin = ["platform"], viewer = ["*"]}')
    return tuple(grant for name, entries in given.items() for grant in _read_role(str(name), entries))


def _read_role(name: str, entries: Any) -> Iterator[RoleGrant]:
    if name not in tuple(AccessRole):
        near = did_you_mean(nearest_word(name, list(AccessRole)))
        raise InputError(f"roles: there is no role {name[:60]!r}{near}")
    if not isinstance(entries, list | tuple):
        raise InputError(f"roles.{name}: write a list, and in it {_ENTRY}")
    for entry in entries:
        yield _read_grant(AccessRole(name), entry)


def _read_grant(role: AccessRole, entry: Any) -> RoleGrant:
    fields = {"group": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, Mapping) or not {"group"} <= fields.keys() <= {"group", "jobs"}:
        raise InputError(f"roles.{role}: write {_ENTRY}")
    group, jobs = fields["group"], fields.get("jobs", ())
    if not isinstance(group, str) or not group:
        raise InputError(f"roles.{role}: write {_ENTRY}")
    patterns = [jobs] if isinstance(jobs, str) else jobs
    if not isinstance(patterns, list | tuple) or not all(
        isinstance(one, str) and _PATTERN.fullmatch(one) for one in patterns
    ):
        raise InputError(f"roles.{role}: jobs: write patterns of job names, such as team-a.*")
    if "jobs" in fields and not patterns:
        raise InputError(f"roles.{role}: jobs: the list is empty: leave it out for all jobs")
    if patterns and role is AccessRole.ADMIN:
        raise InputError(
            f"roles.admin: {group}: an admin decides what is executed, and so can do everything: leave `jobs` "
            "out, or make it an operator"
        )
    return RoleGrant(role, group, tuple(patterns))
