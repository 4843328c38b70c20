"""One name for each repository, by what all sessions of the store say about their directories.

A log that names the repository's remote decides for every session in the same directory or below
it. So a repository has one name, whichever agent worked in it. The names depend on the sessions in
the store alone, never on the order in which they came.
"""

import json
from collections.abc import Callable, Iterator

from session_memory.core.text import escaped
from session_memory.derive.facts import REPOSITORY, REPOSITORY_ROOT
from session_memory.derive.repositories import (
    LoggedPlace,
    ancestors,
    directory_of,
    is_shelf,
    name_of,
)
from session_memory.store.sessions import CollectedSession, PlacedSession
from session_memory.store.store import Store

DomainOf = Callable[[str | None, str | None], str | None]
"""Gives the domain of a repository and a working directory."""

_UNKNOWN = object()


def place_of(cwd: str | None, branch: str | None, facts: str) -> LoggedPlace:
    """What a stored session says about its place."""
    cwd = cwd and escaped(cwd)
    if f'"{REPOSITORY}' not in facts:
        return LoggedPlace(cwd, None, None, bool(branch))
    stated: dict[str, str] = {}
    for _, of_writer in sorted(json.loads(facts).items()):
        stated.update(of_writer)
    return LoggedPlace(cwd, stated.get(REPOSITORY), stated.get(REPOSITORY_ROOT), bool(branch))


class RepositoryNames:
    """The names of all repositories. They are loaded when a session at a new place comes.

    All of these are by directory:

    - ``_stated``: the names in the logs of the sessions there
    - ``_cwds``: the working directories of the sessions there
    - ``_below``: the directories of sessions in it and below it
    - ``_names``: the repository of the sessions there whose logs name none
    """

    def __init__(self, store: Store, domain_of: DomainOf) -> None:
        self._store = store
        self._domain_of = domain_of
        self._forget()

    def _forget(self) -> None:
        self._is_loaded = False
        self._stated: dict[str, set[str]] = {}
        self._in_git: set[str] = set()
        self._below: dict[str, set[str]] = {}
        self._cwds: dict[str, set[str]] = {}
        self._names: dict[str, str | None] = {}

    def set_repo(self, row: CollectedSession, before: LoggedPlace) -> None:
        """Set the repository of a session. If its log changes the name of a repository, also rename
        the repository of the other sessions there.

        ``before`` is the place of the stored session. If the place did not change and the names are
        not loaded, the session keeps its repository, and nothing is loaded.
        """
        place = place_of(row.cwd, row.git_branch, row.facts)
        if self._is_loaded or (place != before and place.cwd is not None):
            self._load()
            for directory in self._add(place):
                self._rename(directory)
            row.repo = self._repo_of(place)
        elif not row.id or place != before:
            row.repo = place.name
        row.domain = self._domain_of(row.repo, row.cwd)

    def refresh(self, row: CollectedSession) -> None:
        """Set the repository of a session again, after other sessions were added."""
        if self._is_loaded:
            row.repo = self._repo_of(place_of(row.cwd, row.git_branch, row.facts))
            row.domain = self._domain_of(row.repo, row.cwd)

    def rename_all(self) -> None:
        """Set the repository of every session, after some were removed or reset."""
        self._forget()
        self._load()

    def _load(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        rows = self._store.sessions.places()
        for row in rows:
            self._add(_place(row))
        for cwd in sorted({row.cwd for row in rows if row.repo != self._repo_of(_place(row))}):
            self._rename_in(cwd)

    def _repo_of(self, place: LoggedPlace) -> str | None:
        if place.name:
            return place.name
        directory = directory_of(place)
        return None if directory is None else self._name_of(directory)

    def _name_of(self, directory: str) -> str | None:
        if directory not in self._names:
            self._names[directory] = self._find_name(directory)
        return self._names[directory]

    def _find_name(self, directory: str) -> str | None:
        above = [one for one in ancestors(directory) if one == directory or not is_shelf(one)]
        for one in above:
            stated = self._stated.get(one, ())
            if stated:
                # A directory may serve several repositories, as in a container.
                return next(iter(stated)) if len(stated) == 1 else name_of(directory)
        # A repository inside another repository is rarer than a session in a subdirectory of a
        # repository. So the topmost directory with a branch counts.
        return name_of(next((one for one in reversed(above) if one in self._in_git), directory))

    def _add(self, place: LoggedPlace) -> list[str]:
        """Add what a session says about its place. Returns the directories whose repository gets
        another name."""
        directory = directory_of(place)
        if directory is None:
            return []
        if directory not in self._cwds:
            self._cwds[directory] = set()
            for one in ancestors(directory):
                self._below.setdefault(one, set()).add(directory)
        self._cwds[directory].add(place.cwd or "")
        changed = set()
        if place.has_branch and directory not in self._in_git:
            self._in_git.add(directory)
            changed.add(directory)
        if place.name:
            named_so = (one for one in ancestors(directory) if one.endswith(f"/{place.name}"))
            for one in {directory, next(named_so, directory)}:
                if place.name not in self._stated.setdefault(one, set()):
                    self._stated[one].add(place.name)
                    changed.add(one)
        return sorted(self._renamed(changed)) if changed else []

    def _renamed(self, changed: set[str]) -> Iterator[str]:
        for directory in {below for one in changed for below in self._below.get(one, ())}:
            before = self._names.pop(directory, _UNKNOWN)
            if before is not _UNKNOWN and self._name_of(directory) != before:
                yield directory

    def _rename(self, directory: str) -> None:
        for cwd in sorted(self._cwds[directory]):
            self._rename_in(cwd)

    def _rename_in(self, cwd: str) -> None:
        for row in self._store.sessions.in_directory(cwd):
            repo = self._repo_of(_place(row))
            if repo != row.repo:
                self._store.sessions.set_repo(row.id, repo, self._domain_of(repo, row.cwd))


def _place(row: PlacedSession) -> LoggedPlace:
    return place_of(row.cwd, row.git_branch, row.facts)
