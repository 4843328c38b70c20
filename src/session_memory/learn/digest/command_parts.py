"""Split a shell text into the commands that matter, so that equal checks can be recognized.

Directories, wrappers, filters and redirections are left out:
``cd web && bun run lint 2>&1 | tail -20`` and ``timeout 60 bun run lint`` both run
``bun run lint``.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from session_memory.derive.detecting import EXAMINED, simple_commands
from session_memory.learn.digest.carried_commands import carried_commands

MOST_PARTS = 20
_LONGEST_WORD = 60
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Commands that are ignored: they only navigate, print, filter or control the flow of a script.
_BESIDE_WORDS = """
    cd pushd popd echo printf true false : sleep set export source . tail head cat grep egrep
    rg sed awk tee wc sort uniq cut tr less pwd date clear wait exit fi then do done else if
    for while read test [
"""
_BESIDE = frozenset(_BESIDE_WORDS.split())
_PYTHON = re.compile(r"python[\d.]*")
_CHECKING = """
    lint check tsc typecheck types build compile test tests vet clippy biome eslint ruff mypy
    pyright golangci-lint oxlint prettier format fmt verify ci validate commit push make mvn
    gradle cargo
"""
_CHECK_WORDS = frozenset(_CHECKING.split())
_CHECK_WORD = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(sorted(_CHECK_WORDS))})(?![A-Za-z0-9_])")
# Characters that a shell removes inside of a word: quotes, backslashes and dollar signs.
_QUOTING = str.maketrans("", "", "'\"\\$")
_PREFIXES_WORDS = """
    time nice nohup command exec env sudo stdbuf
"""
_PREFIXES = frozenset(_PREFIXES_WORDS.split())
# To recognize a command of these programs again, compare only this many words after the program.
# The later words are texts or numbers that differ each time.
_BY_VERB = {"git": 1, "gh": 2, "docker": 1, "kubectl": 1}
# Subcommands of git with subcommands of their own, and options that make a command another check.
_TWO_VERBS = frozenset(
    {"stash", "submodule", "worktree", "remote", "bisect", "config", "notes"}
    | {"compose", "container", "image", "volume", "network"}
)
_SKIPPING = "--no-verify"
_OTHER_CHECK = frozenset({"--check", _SKIPPING})
# Options of test runners with a pattern of the tests to run.
_TEST_FILTERS = frozenset(
    {"-k", "-t", "-g", "-run", "--run", "--grep", "--filter", "--testNamePattern", "--fgrep"}
)
_SHORTEST_NAME = 4
_SUBCOMMAND = re.compile(r"[a-z][a-z-]+")
_OF_COMPOSE = frozenset({"-f", "--file", "-p", "--project-name", "--profile", "--env-file"})
_WITH_VERBS_WORDS = """
    git gh docker kubectl npm pnpm yarn bun npx uv uvx cargo go poetry pip terraform dotnet
    corepack rtk env sudo fnm aws gcloud az helm brew apt apt-get systemctl
    bundle pdm hatch rye pixi mise asdf direnv nix nvm just mix rails php artisan composer deno
    docker-compose podman doppler dotenvx conda flutter dart swift mvn
"""
_WITH_VERBS = frozenset(_WITH_VERBS_WORDS.split())
# Programs that start another program, and subcommands with which package managers do so.
_STARTERS = frozenset({"corepack", "rtk", "npx", "bunx", "uvx", "pipx", "env", "sudo", "xvfb-run"})
_STARTING = frozenset({"run", "exec", "dlx", "x", "--", "develop", "shell"})
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun", "uv", "poetry", "fnm"})
_FIXING = re.compile(
    r"(?i)^(?:--fix(?:-\S+)?|--write|--apply|--unsafe|-w|--autofix)$|(?:[:_-]|^)fix$|(?:^|[:_-])fmt$"
    r"|(?:^|[:_-])format$|^autoformat$"
)
_INSTALLING = re.compile(
    r"(?i)^(?:install|add|i|ci|sync|restore|bundle|tidy|download|get|update|upgrade|up|dedupe|fetch"
    r"|bootstrap|prepare|setup)$"
)
_INSTALLERS_WORDS = """
    npm pnpm yarn bun pip pip3 uv poetry pdm conda cargo go gem bundle composer apt apt-get
    brew dnf yum apk pacman nuget dotnet mvn gradle corepack rustup nvm fnm mise asdf pipx
    playwright make mix flutter dart pod terraform
"""
_INSTALLERS = frozenset(_INSTALLERS_WORDS.split())
_CHANGING_WORDS = """
    rm mv cp mkdir ln chmod chown touch kill pkill killall unset rmdir truncate install patch
    direnv mise fnm nvm asdf systemctl launchctl service createdb dropdb psql sqlite3 mysql
    rsync tar unzip ssh-add ssh-keygen
"""
_CHANGING = frozenset(_CHANGING_WORDS.split())
_GIT_CHANGING_WORDS = """
    add restore checkout reset stash rm mv config remote switch branch merge rebase pull fetch
    cherry-pick revert clean apply am submodule worktree tag init commit push
"""
_GIT_CHANGING = frozenset(_GIT_CHANGING_WORDS.split())
# Options with which `git branch`, `git tag` and `git remote` list or change something.
_LISTING_OPTIONS = frozenset(
    ("-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--show-current", "--contains", "--merged")
    + ("--no-merged", "get-url", "show")
)
_CHANGING_OPTIONS = frozenset({"-d", "-D", "-m", "-M", "-f", "-u", "-c", "-C", "--delete"})


class Part(NamedTuple):
    """One command of a shell text. The first of ``words`` is the program without its directory."""

    words: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def is_fixing(self) -> bool:
        """Whether the command is a linter or formatter that changes files (``eslint --fix``)."""
        return any(_FIXING.search(word) for word in self.words[1:6]) or self.program == "gofmt"

    @property
    def is_installing(self) -> bool:
        has_verb = any(_INSTALLING.match(word) for word in self.words[1:4])
        return has_verb and any(word in _INSTALLERS for word in self.words[:3])

    @property
    def is_changing(self) -> bool:
        """Whether the command changes files or settings, such as ``rm`` or ``git checkout``."""
        if "git" in self.words[:2]:
            at = self.words.index("git") + 1
            verb, rest = self.words[at : at + 1], self.words[at + 1 :]
            return bool(verb) and verb[0] in _GIT_CHANGING and not _only_lists(verb[0], rest)
        return any(word in _CHANGING for word in self.words[:2]) or "auth" in self.words[1:3]


def _only_lists(verb: str, rest: tuple[str, ...]) -> bool:
    """Whether a git command such as ``git branch -a`` only lists what there is, or makes another
    place to try something in, such as ``git worktree add``."""
    if verb == "worktree":
        return rest[:1] in ((), ("list",), ("add",))
    if verb in ("branch", "tag", "remote"):
        if all(word.startswith("-") and word not in _CHANGING_OPTIONS for word in rest):
            return True
        # "git tag -a v1" makes a tag.
        listing = _LISTING_OPTIONS - {"-a"} if verb == "tag" else _LISTING_OPTIONS
        return not listing.isdisjoint(rest[:2])
    if verb == "config":
        return bool({"--get", "--get-regexp", "--get-all", "--list", "-l", "get", "list"} & {*rest})
    return rest[:1] in (("list",), ("show",), ("status",)) and verb in ("stash", "submodule")


@lru_cache(maxsize=2_000)
def parts_of(text: str) -> tuple[Part, ...]:
    """Return the first `MOST_PARTS` commands of a shell text, without those that only show or
    filter."""
    found = (
        _part(words)
        for command in simple_commands(text)[: 2 * MOST_PARTS]
        for words in carried_commands(command)
    )
    return tuple(part for part in found if part is not None)[:MOST_PARTS]


def _part(given: list[str]) -> Part | None:
    words = list(given)
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _PREFIXES):
        del words[0]
    if words and words[0] == "timeout":
        del words[:2]
    if not words or _name(words[0]) in _BESIDE:
        return None
    name = _name(words[0])
    if "git" in words[:2]:
        # ``git -C web add x`` is the same command as ``git add x``.
        at = words[:2].index("git") + 1
        while len(words) > at + 1 and words[at] in ("-C", "-c"):
            del words[at : at + 2]
    if words[:2] == ["docker", "compose"]:
        while len(words) > 3 and words[2].startswith("-"):
            del words[2 : 4 if words[2] in _OF_COMPOSE else 3]
    rest = [word for word in words[1:] if len(word) <= _LONGEST_WORD and " " not in word]
    return Part((name, *("python" if _PYTHON.fullmatch(word) else word for word in rest[:12])))


def _name(word: str) -> str:
    name = word.rsplit("/", 1)[-1]
    return "python" if _PYTHON.fullmatch(name) else name


def runs_check(text: str) -> bool:
    """Whether the words of a shell text show that it runs a compiler, a linter, tests or a hook."""
    # Most texts have no such word, and this search is faster than splitting a text.
    if _CHECK_WORD.search(text[:EXAMINED].translate(_QUOTING)) is None:
        return False
    return any(map(_is_check, parts_of(text)))


def _is_check(part: Part) -> bool:
    words = (piece for word in part.words[:5] for piece in word.replace(":", " ").split())
    return not _CHECK_WORDS.isdisjoint(words) or any(
        piece in _CHECK_WORDS for word in part.words[:3] for piece in word.split("-")
    )


def is_same_check(one: Part, other: Part) -> bool:
    """Whether two commands are the same check. One may have a wrapper: ``npx tsc`` and ``tsc``."""
    first, second = check_identity(one), check_identity(other)
    if len(first) > len(second):
        first, second = second, first
    return second[len(second) - len(first) :] == first


@lru_cache(maxsize=2_000)
def check_identity(part: Part) -> tuple[str, ...]:
    """Return the words that tell this check from others: ``git commit`` of ``git commit -m x``."""
    words = part.words
    for place in (0, 1):
        if len(words) > place and words[place] in _BY_VERB:
            verbs = [word for word in words[place + 1 :] if not word.startswith("-")]
            count = 2 if _TWO_VERBS.intersection(verbs[:1]) else _BY_VERB[words[place]]
            options = _OTHER_CHECK.intersection(words)
            return (*words[: place + 1], *verbs[:count], *sorted(options))
    return words


def skips_hooks(text: str) -> bool:
    """Whether a shell text runs a command of git without its hooks: ``git commit --no-verify``."""
    if "git" not in text or ("-n" not in text and "--no-v" not in text):
        return False
    return any(
        "git" in part.words[:2]
        and (_SKIPPING in part.words or ("commit" in part.words and "-n" in part.words))
        for part in parts_of(text)
    )


def covers(text: str, error: str) -> bool:
    """Whether a test run may include the test that had an error.

    A run of chosen tests (``pytest -k name``, ``vitest a.test.ts``) includes it only if the error
    names one of the files or patterns.
    """
    chosen = _chosen_tests(text)
    lowered = error.lower()
    return not chosen or any(name in lowered for name in chosen)


def is_narrower(text: str, other: str) -> bool:
    """Whether a test run names files or patterns of tests that the other run did not name."""
    return not _chosen_tests(text) <= _chosen_tests(other)


@lru_cache(maxsize=500)
def tries_elsewhere(text: str) -> bool:
    """Whether a shell text tries something without the changes of the session, as ``git stash``
    and another working tree do. Its success says nothing about the changes."""
    if "git" not in text:
        return False
    words = [command.words for command in simple_commands(text)]
    return any(
        one[:3] == ["git", "worktree", "add"]
        or (one[:2] == ["git", "stash"] and one[2:3] in ([], ["push"], ["-u"], ["save"], ["-q"]))
        for one in (_without_place(each) for each in words)
    )


def _without_place(words: list[str]) -> list[str]:
    return [words[0], *words[3:]] if words[:2] == ["git", "-C"] and len(words) > 3 else words


def subcommands_of(part: Part) -> tuple[str, ...]:
    """Return the first two words after the program that look like subcommands, not like files."""
    words = [word for word in part.words[1:] if not word.startswith("-")][:2]
    return tuple(takewhile(_SUBCOMMAND.fullmatch, words))


@lru_cache(maxsize=500)
def _chosen_tests(text: str) -> frozenset[str]:
    return frozenset(_chosen(text))


def _chosen(text: str) -> Iterator[str]:
    """Yield the names of the files and the patterns with which a test run chooses its tests."""
    for command in simple_commands(text):
        for before, word in pairwise(command.words):
            option, _, value = word.partition("=")
            name = value if option in _TEST_FILTERS else word
            is_chosen = bool(value and option in _TEST_FILTERS) or before in _TEST_FILTERS
            if not is_chosen and ("." not in word.lstrip("./") or word.startswith("-")):
                continue
            # A pattern may have several alternatives: --grep "Cart|Order".
            for one in name.split("|") if is_chosen else (name,):
                one = one.strip("'\"^$() ").rstrip("/").rpartition("/")[2].partition(".")[0].lower()
                if len(one) >= _SHORTEST_NAME:
                    yield one


def lead_of(part: Part) -> tuple[str, ...]:
    """Return the program that a command really runs, with its subcommand if it has many.

    ``corepack pnpm exec vitest`` gives ``vitest``, ``bun run lint`` gives ``lint``, and
    ``git push origin`` gives ``git push``. The result is () if the subcommand is missing.
    """
    words = [word for word in part.words if not word.startswith("-")]
    while len(words) > 1 and words[0] in _STARTERS:
        del words[0]
    if len(words) > 2 and words[0] in _WITH_VERBS and words[1] in _STARTING:
        return lead_of(Part(tuple(words[2:])))
    if not words or words[0] not in _WITH_VERBS:
        # A command may have only options: "--version" after a line break.
        return tuple(words[:1])
    return tuple(words[:2]) if len(words) > 1 else ()


def run_again(one: str, other: str) -> bool:
    """Whether two shell texts run the same commands: only filters and redirections may differ."""
    if one == other:
        return True
    if "<<" in one and "<<" in other:
        # What a command reads from the text itself, such as a patch, must be the same, too.
        return False
    commands = _without_filters(one)
    return bool(commands) and commands == _without_filters(other)


@lru_cache(maxsize=2_000)
def _without_filters(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(command.words)
        for command in simple_commands(text)
        if command.words and (command.words[0] == "cd" or command.words[0] not in _BESIDE)
    )


def shared_words(one: str, other: str) -> float:
    """Return the share of the shorter shell text's words that the other text has, too.

    A single common word counts as none.
    """
    first, second = _all_words(one), _all_words(other)
    shared, fewest = len(first & second), min(len(first), len(second))
    return shared / fewest if shared > 1 else 0.0


@lru_cache(maxsize=2_000)
def _all_words(text: str) -> frozenset[str]:
    found = (
        _name(word) if place == 0 else word
        for command in simple_commands(text)
        for words in carried_commands(command)
        for place, word in enumerate(words)
        if words[0] not in ("cd", "echo", "tail", "head")
    )
    # Words that only start another program say nothing about what two texts have in common.
    return frozenset(found) - _STARTERS - _STARTING - _MANAGERS
