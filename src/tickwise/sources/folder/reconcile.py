"""Which definitions of a folder go on, and what changes by that. Pure: all over values.

A file with an error changes nothing that stands: its documents that were last good go on, all of them, and the
error stands until it is fixed. The error may be the file's own (broken, half written, unreadable) or show only
beside others (a name taken twice, S26; an unknown schedule or a circle in `after`, S35). In a file of which
nothing stands yet, an error of its own holds back all documents, one that only others make just its own document.
A file that is gone takes its jobs with it, unless its folder could not be looked into.

To go back to the last good documents takes names that another file may have claimed in the meantime. So it is
settled in rounds: each puts the files refused in the round before back to their last good documents, which go
before all claims, and settles the folder anew. Files that ask for nothing new are there from the start. The last
good documents of all files fit together, as they stood together; so the rounds end.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath
from typing import TypeVar

from ...core.definition import JobDefinition
from ..yaml import DefinitionError, Placed
from ..yaml.crosschecks import cross_check
from ..yaml.reader import Read

T = TypeVar("T", Read, DefinitionError)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What one file holds: documents, which count only if nothing is wrong with any of them."""

    documents: tuple[Read, ...] = ()
    errors: tuple[DefinitionError, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """What a look at a folder found, by file, in the order in which they claim names."""

    files: Mapping[str, ParsedFile]
    unseen: tuple[str, ...] = ()  # folders that could not be looked into
    errors: tuple[DefinitionError, ...] = ()  # of those folders

    def may_hold(self, file: str) -> bool:
        """Whether a file is there, or may be."""
        return file in self.files or any(PurePath(file).is_relative_to(folder) for folder in self.unseen)


@dataclass(frozen=True, slots=True)
class ActiveDefinitions:
    """What goes on, by file, and all that is wrong with the folder."""

    files: Mapping[str, tuple[Read, ...]] = field(default_factory=dict)
    errors: tuple[DefinitionError, ...] = ()
    was_whole: bool = False  # whether it has ever been free of errors

    def jobs(self) -> dict[str, Placed]:
        placed = (document.placed for document in chain.from_iterable(self.files.values()))
        return {one.job.name: one for one in placed if one}


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A step from one standing to the next; what is removed goes first.

    `full` says that `defined` is all there is and nothing is in doubt, so that whatever else a store holds of this
    source is gone from the folder. It is said once, as soon as the folder is free of errors: most times at the
    start. A file that is broken at the start keeps the jobs that it had in the store.
    """

    defined: tuple[Placed, ...]
    removed: tuple[str, ...]
    errors: tuple[DefinitionError, ...]  # all that stand now
    full: bool


def difference(before: ActiveDefinitions, after: ActiveDefinitions) -> FolderChange | None:
    """What changed, if anything did. A job that moved to another file is the same (S28)."""
    old, new = before.jobs(), after.jobs()
    full = after.was_whole and not before.was_whole
    changed = [name for name in new if full or name not in old or not _same(old[name].job, new[name].job)]
    changed.sort(key=lambda name: name not in old)  # a schedule's name that is given up is then free to be taken
    change = FolderChange(
        defined=tuple(new[name] for name in changed),
        removed=tuple(name for name in old if name not in new),
        errors=after.errors,
        full=full,
    )
    told = [str(error) for error in before.errors] != [str(error) for error in after.errors]
    return change if change.defined or change.removed or full or told else None


def _same(one: JobDefinition, other: JobDefinition) -> bool:
    """Whether two definitions are equal; to Python `true`, `1` and `1.0` are, to a job's params they are not."""
    return one is other or (one == other and _as_json(one.params) == _as_json(other.params))


def _as_json(params: Mapping[str, object]) -> str:
    return json.dumps(dict(params), sort_keys=True)


def reconcile(
    before: ActiveDefinitions, content: Content, other_schedules: frozenset[str] = frozenset()
) -> ActiveDefinitions:
    """What goes on after a look. `other_schedules` are the names that `after` may use besides those found here."""
    after = _settled(before, content, other_schedules)
    while after.files != before.files:  # a name may be free now, as who claimed it first was refused after all
        before, after = after, _settled(after, content, other_schedules)
    return after


def _settled(before: ActiveDefinitions, content: Content, other_schedules: frozenset[str]) -> ActiveDefinitions:
    asking = {file: reading.documents for file, reading in content.files.items() if not reading.errors}
    stood = {file: good for file, good in before.files.items() if good and content.may_hold(file)}
    last_good = {file: _newer(asking.get(file, ()), good) for file, good in stood.items()}
    back = {file for file, good in last_good.items() if asking.get(file, good) is good}
    put_back: dict[str, list[DefinitionError]] = {}
    while True:
        goes_on = {file: good for file, good in last_good.items() if file in back}
        claims = {file: documents for file, documents in asking.items() if file not in back}
        known = other_schedules | _schedules(chain.from_iterable(goes_on.values()))
        kept, errors = cross_check(_in_order(goes_on, claims, last_good), known)
        refused = _by_file(errors)
        newly = refused.keys() & last_good.keys() - back
        if not newly:
            break
        put_back |= {file: refused[file] for file in newly}
        back |= newly
    taken = _by_file(kept)
    files = goes_on | {file: tuple(taken.get(file, ())) for file in claims}
    every_error = (*content.errors, *_own_errors(content), *_in_lines(refused | put_back))
    return ActiveDefinitions(files, every_error, before.was_whole or not every_error)


def _newer(asked: tuple[Read, ...], good: tuple[Read, ...]) -> tuple[Read, ...]:
    """The last good documents: if the same jobs are asked for again, where these stand now."""
    jobs = [[document.placed.job for document in documents if document.placed] for documents in (asked, good)]
    is_same = len(asked) == len(good) and all(map(_same, *jobs))
    return asked if is_same else good


def _own_errors(content: Content) -> Iterable[DefinitionError]:
    return chain.from_iterable(reading.errors for reading in content.files.values())


def _in_lines(errors: Mapping[str, list[DefinitionError]]) -> Iterable[DefinitionError]:
    return sorted(chain.from_iterable(errors.values()), key=lambda error: (error.file, error.line or 0))


def _in_order(
    goes_on: Mapping[str, tuple[Read, ...]],
    claims: Mapping[str, tuple[Read, ...]],
    last_good: Mapping[str, tuple[Read, ...]],
) -> list[Read]:
    """First come, first served: what goes on, then who asks for names that his file has already, then others."""
    held = {file: _names(*last_good.get(file, ())) for file in claims}
    asking = chain.from_iterable(claims.values())
    first_come = sorted(asking, key=lambda document: not _names(document) <= held[document.file])
    return [*chain.from_iterable(goes_on.values()), *first_come]


def _names(*documents: Read) -> set[tuple[str, str]]:
    jobs = {("job", document.placed.job.name) for document in documents if document.placed}
    return jobs | {("schedule", name) for name in _schedules(documents)}


def _schedules(documents: Iterable[Read]) -> set[str]:
    placed = (document.placed for document in documents)
    return {schedule.name for one in placed if one for schedule in one.job.schedules}


def _by_file(items: Iterable[T]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = defaultdict(list)
    for item in items:
        found[item.file].append(item)
    return dict(found)
