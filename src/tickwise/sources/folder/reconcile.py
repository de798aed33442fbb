"""Which definitions of a folder are active, and what a scan changes. Pure functions over values.

A document with an error changes nothing, and the error stays until it is fixed. The good documents of its file are
active. Which job a bad document defines may be unknown, so all last good documents of the file stay active whose
jobs no good document defines; a file that cannot be read at all keeps all of them. An error may also come from
other files (a name used twice, S26; an unknown schedule or a cycle in `after`, S35): then the last good documents
of the whole file stay active, and in a file without any only its document is held back. A file that is gone takes
its jobs with it, unless its folder could not be read.

Going back to the last good documents takes names that another file may have claimed meanwhile. So the folder is
settled in rounds: each round puts the files that were refused in the round before back to their last good
documents, which take precedence over all claims, and checks the folder again. Files without changes are put back
from the start. The last good documents of all files fit together, since they were active together, so the rounds
end.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePath
from typing import Any, TypeVar

from ...core.definition import JobDefinition
from ..calendars.reader import NO_CALENDARS, CalendarFolder
from ..yaml import DefinitionError, LocatedJob
from ..yaml.crosschecks import cross_check
from ..yaml.reader import ParsedDocument

T = TypeVar("T", ParsedDocument, DefinitionError)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The content of one file: the documents without errors, and the errors of the others."""

    documents: tuple[ParsedDocument, ...] = ()
    errors: tuple[DefinitionError, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderContent:
    """The result of a scan, by file, in the order in which files claim names."""

    files: Mapping[str, ParsedFile]
    unseen: tuple[str, ...] = ()  # folders that could not be read
    errors: tuple[DefinitionError, ...] = ()  # of those folders, and of calendars
    calendars: CalendarFolder = NO_CALENDARS

    def may_hold(self, file: str) -> bool:
        """Whether a file exists, or may exist."""
        return file in self.files or any(PurePath(file).is_relative_to(folder) for folder in self.unseen)


@dataclass(frozen=True, slots=True)
class ActiveDefinitions:
    """The active documents by file, and all errors of the folder."""

    files: Mapping[str, tuple[ParsedDocument, ...]] = field(default_factory=dict)
    errors: tuple[DefinitionError, ...] = ()
    was_whole: bool = False  # whether the folder has ever been free of errors
    calendars: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # their fields

    def jobs(self) -> dict[str, LocatedJob]:
        located = (document.located for document in chain.from_iterable(self.files.values()))
        return {one.job.name: one for one in located if one}


@dataclass(frozen=True, slots=True)
class FolderChange:
    """A change of the active definitions; removals come first.

    `full` says that `defined` is complete, so that all other jobs that a store holds from this source are gone
    from the folder. It is set once, as soon as the folder is free of errors, mostly at the start. A file that is
    broken at the start keeps the jobs that it has in the store.
    """

    defined: tuple[LocatedJob, ...]
    removed: tuple[str, ...]
    errors: tuple[DefinitionError, ...]  # all current ones
    full: bool
    calendars: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)  # none: it is gone


def difference(before: ActiveDefinitions, after: ActiveDefinitions) -> FolderChange | None:
    """What changed, None if nothing did. A job that moved to another file is the same (S28)."""
    old, new = before.jobs(), after.jobs()
    full = after.was_whole and not before.was_whole
    changed = [name for name in new if full or name not in old or not _same_job(old[name].job, new[name].job)]
    changed.sort(key=lambda name: name not in old)  # a schedule name that an old job gives up is then free
    calendars: dict[str, Mapping[str, Any] | None] = dict.fromkeys(
        before.calendars.keys() - after.calendars.keys()
    )
    calendars |= {
        name: fields for name, fields in after.calendars.items() if full or fields != before.calendars.get(name)
    }
    change = FolderChange(
        defined=tuple(new[name] for name in changed),
        removed=tuple(name for name in old if name not in new),
        errors=after.errors,
        full=full,
        calendars=calendars,
    )
    has_new_errors = [str(error) for error in before.errors] != [str(error) for error in after.errors]
    is_change = change.defined or change.removed or change.calendars or full or has_new_errors
    return change if is_change else None


def _same_job(one: JobDefinition, other: JobDefinition) -> bool:
    """Whether two definitions are equal. Python says that `True`, `1` and `1.0` are; in params they differ."""
    return one is other or (one == other and _params_json(one.params) == _params_json(other.params))


def _params_json(params: Mapping[str, object]) -> str:
    return json.dumps(dict(params), sort_keys=True)


def reconcile(
    before: ActiveDefinitions, content: FolderContent, other_schedules: frozenset[str] = frozenset()
) -> ActiveDefinitions:
    """The active definitions after a scan. `after` may use `other_schedules` besides those of the folder."""
    calendars = _active_calendars(before.calendars, content.calendars)
    after = _settle(before, content, other_schedules)
    while after.files != before.files:  # a name may be free now, since its first claimant was refused
        before, after = after, _settle(after, content, other_schedules)
    return replace(after, calendars=calendars)


def _active_calendars(
    before: Mapping[str, Mapping[str, Any]], seen: CalendarFolder
) -> Mapping[str, Mapping[str, Any]]:
    """Those of the folder; one whose file is wrong goes on as it was."""
    if not seen.is_seen:
        return before
    return {name: before[name] for name in seen.broken if name in before} | dict(seen.fields)


def _settle(
    before: ActiveDefinitions, content: FolderContent, other_schedules: frozenset[str]
) -> ActiveDefinitions:
    new_documents = {
        file: _with_last_good(parsed, before.files.get(file, ())) for file, parsed in content.files.items()
    }
    previously_active = {file: good for file, good in before.files.items() if good and content.may_hold(file)}
    last_good = {
        file: _last_good_documents(new_documents.get(file, ()), good) for file, good in previously_active.items()
    }
    reverted = {file for file, good in last_good.items() if new_documents.get(file, good) is good}
    reverted_errors: dict[str, list[DefinitionError]] = {}
    while True:
        retained = {file: good for file, good in last_good.items() if file in reverted}
        claims = {file: documents for file, documents in new_documents.items() if file not in reverted}
        known = other_schedules | _schedule_names(chain.from_iterable(retained.values()))
        kept, errors = cross_check(_by_precedence(retained, claims, last_good), known)
        refused = _group_by_file(errors)
        newly_refused = refused.keys() & last_good.keys() - reverted
        if not newly_refused:
            break
        reverted_errors |= {file: refused[file] for file in newly_refused}
        reverted |= newly_refused
    accepted = _group_by_file(kept)
    files = retained | {file: tuple(accepted.get(file, ())) for file in claims}
    all_errors = (*content.errors, *_own_errors(content), *_sorted_by_line(refused | reverted_errors))
    return ActiveDefinitions(files, all_errors, before.was_whole or not all_errors)


def _with_last_good(parsed: ParsedFile, good: tuple[ParsedDocument, ...]) -> tuple[ParsedDocument, ...]:
    """What a file defines; if a document has errors, also last good ones whose jobs no other document defines."""
    if not parsed.errors:
        return parsed.documents
    if not parsed.documents:
        return good
    names = {document.located.job.name for document in parsed.documents if document.located}
    return (
        *parsed.documents,
        *(document for document in good if document.located and document.located.job.name not in names),
    )


def _last_good_documents(
    new: tuple[ParsedDocument, ...], good: tuple[ParsedDocument, ...]
) -> tuple[ParsedDocument, ...]:
    """The last good documents of a file; if it defines the same jobs again, with their new lines."""
    jobs = [[document.located.job for document in documents if document.located] for documents in (new, good)]
    is_same = len(new) == len(good) and all(map(_same_job, *jobs))
    return new if is_same else good


def _own_errors(content: FolderContent) -> Iterable[DefinitionError]:
    return chain.from_iterable(parsed.errors for parsed in content.files.values())


def _sorted_by_line(errors: Mapping[str, list[DefinitionError]]) -> Iterable[DefinitionError]:
    return sorted(chain.from_iterable(errors.values()), key=lambda error: (error.file, error.line or 0))


def _by_precedence(
    retained: Mapping[str, tuple[ParsedDocument, ...]],
    claims: Mapping[str, tuple[ParsedDocument, ...]],
    last_good: Mapping[str, tuple[ParsedDocument, ...]],
) -> list[ParsedDocument]:
    """First come, first served: active documents, then those whose names their file already has, then others."""
    held = {file: _claimed_names(*last_good.get(file, ())) for file in claims}
    documents = chain.from_iterable(claims.values())
    ordered = sorted(documents, key=lambda document: not _claimed_names(document) <= held[document.file])
    return [*chain.from_iterable(retained.values()), *ordered]


def _claimed_names(*documents: ParsedDocument) -> set[tuple[str, str]]:
    jobs = {("job", document.located.job.name) for document in documents if document.located}
    return jobs | {("schedule", name) for name in _schedule_names(documents)}


def _schedule_names(documents: Iterable[ParsedDocument]) -> set[str]:
    located = (document.located for document in documents)
    return {schedule.name for one in located if one for schedule in one.job.schedules}


def _group_by_file(items: Iterable[T]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for item in items:
        groups[item.file].append(item)
    return dict(groups)
