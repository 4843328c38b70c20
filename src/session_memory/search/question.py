"""Split a question into concepts: each word, with other words for the same thing.

Several words together may have another name, too: "get rid of" is also "remove", and "home page" is
also "homepage".
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from session_memory.search.recall_terms import parts_in, terms_in
from session_memory.search.stems import stem
from session_memory.search.synonyms import synonyms

# What a part of an identifier counts in a question, compared with the whole identifier.
PART = 0.25
MOST_WITH_SYNONYMS = 12
SHORTEST_JOINED = 3
NAMED_FILE = 2.0
_WORDS = re.compile(r"[a-z0-9]+")
# The name of a file with its ending; the group is the name without it.
_FILE = re.compile(r"([\w-]{3,})(?:\.[\w-]+)*\.[A-Za-z]{1,5}\b")

_PHRASES = """
    get rid = remove delete drop / got rid = remove delete drop / put back = restore revert /
    take back = revert undo / turn on = enable / turn off = disable / turned on = enable /
    turned off = disable / switch on = enable / switch off = disable / look up = search find /
    set up = configure install / speed up = performance faster optimize / log in = auth / sign
    in = login auth / log on = login auth / log out = signout / sign out = logout / sign up =
    register / roll back = revert / start page = homepage home welcome / front page = homepage
    home readme / landing page = homepage home welcome / home page = welcome / main page =
    homepage home / welcome page = homepage home / release notes = changelog / merge request =
    pr pull / pull request = pr / command line = cli terminal / point to = pointer reference /
    call to action = cta button / look and feel = style theme / drop down = select / pop up =
    modal dialog / spelling mistake = typo / dead end = stuck / source of truth = canonical /
    out of date = outdated stale / up to date = current latest / in parallel = concurrent / at
    once = parallel concurrent / one by one = sequential / by hand = manual / by itself = auto
    automatic / on its own = auto automatic / access rights = permission / sign off = approve /
    full screen = maximize / key binding = shortcut hotkey / load balancer = proxy / real time =
    live / open source = oss license / env var = environment / environment variable = env / rate
    limit = throttle quota / stack trace = traceback / version number = bump / git hook =
    precommit husky / pre commit = hook husky / continuous integration = ci workflow / github
    actions = ci workflow / build server = ci / type check = types / type hints = annotation /
    code style = lint format / dark mode = theme / light mode = theme / nav bar = navigation /
    text field = input / search box = input / progress bar = spinner / access token = credential
    / api key = token credential secret / single sign = sso / two factor = 2fa mfa / file name =
    path / data base = db / code base = repo / work flow = ci / dry run = preview simulate /
    feature flag = toggle / edge case = corner boundary / race condition = concurrency / null
    pointer = npe nil / cut off = truncate / cut short = truncate / goes wrong = error fail /
    went wrong = error fail / not found = missing 404 / throw out = remove delete drop / throw
    away = discard delete remove / take away = remove hide / take out = remove extract / cut out
    = remove extract / bring back = restore show / put away = hide close / save money = cheap
    cost / version control = git diff commit / by accident = mistake unexpected / on purpose =
    intended / keep in sight = sticky visible / in sight = visible sticky / two at once =
    parallel / twice as = double / sign of life = health heartbeat / side by side = diff compare
    / before and after = compare diff / set of rules = policy / code review = review pr / review
    comments = feedback / test run = test ci / work tree = worktree checkout / working copy =
    worktree / main branch = main master / default branch = main / start over = reset restart /
    from scratch = new rewrite / hand over = handoff pass / hand off = handoff / fall back =
    fallback default / give up = abandon abort fail / time zone = timezone utc / white list =
    allow allowlist / allow list = allowlist policy whitelist / deny list = block denylist / log
    file = log / error page = error 404 / user interface = ui frontend / front end = ui web /
    back end = server api / data model = schema / build script = build makefile / package
    manager = npm pnpm pip / lock file = lockfile / config file = config settings / secret key =
    token credential / pull down = fetch pull / out of memory = oom memory / out of sync = stale
    sync / out of sight = hidden / too long = truncate length limit / too slow = performance
    timeout / too many = limit flood / too big = limit size / blow up = crash fail / fall over =
    crash fail / keep alive = heartbeat
"""


class Concept(msgspec.Struct, frozen=True):
    """A word of a question: its ``term`` (the stem), and ``others``: terms that may stand in its
    place.

    ``share`` is how much the word counts. A term of ``others`` that is also in ``names`` is a name
    of a phrase with this word. It counts nearly as much as the word itself.
    """

    term: str
    share: float
    others: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    most: float = 1.0
    """The most that a session is expected to gain from this word, as a share of ``share``."""


def concepts_in(text: str) -> list[Concept]:
    """Return a `Concept` for each word of a question. A short question also gets synonyms.

    In a long question, such as a plan, repeated words and names of files count more: repeated words
    show the topic, and files show where the work is.
    """
    counts, parts = Counter(terms_in(text)), parts_in(text)
    terms = list(counts)
    if len(terms) > MOST_WITH_SYNONYMS:
        files = {term for name in _FILE.findall(text) for term in terms_in(name)}
        return [
            Concept(
                term,
                (PART if term in parts else 1.0)
                * (NAMED_FILE if term in files else 1.0)
                * (1 + math.log(count)),
            )
            for term, count in counts.items()
        ]
    words = _WORDS.findall(text.lower())
    phrases, joined = _phrases_in(words), _joined(words)
    found = []
    for term in terms:
        if term in parts:
            found.append(Concept(term, PART))
            continue
        names = frozenset(phrases.get(term, ()))
        others = (synonyms(term) | names | joined.get(term, set())).difference(terms)
        found.append(Concept(term, 1.0, tuple(sorted(others)), names))
    return found


def files_in(text: str) -> frozenset[str]:
    """Return the names of the files in a text, without their directories."""
    return frozenset(match[0] for match in _FILE.finditer(text))


def _phrases_in(words: Sequence[str]) -> dict[str, set[str]]:
    """Map each term of a known phrase in ``words`` to other names of the phrase."""
    found: dict[str, set[str]] = {}
    for size in (2, 3):
        for start in range(len(words) - size + 1):
            phrase = words[start : start + size]
            if names := _phrases().get(" ".join(phrase)):
                for term in terms_in(" ".join(phrase)):
                    found.setdefault(term, set()).update(names)
    return found


def _joined(words: Sequence[str]) -> dict[str, set[str]]:
    """Map each term to the words that it forms with a neighbour: "home page" is "homepage"."""
    found: dict[str, set[str]] = {}
    for pair in zip(words, words[1:], strict=False):
        if min(map(len, pair)) >= SHORTEST_JOINED:
            for term in terms_in(" ".join(pair)):
                found.setdefault(term, set()).add(stem("".join(pair)))
    return found


@cache
def _phrases() -> Mapping[str, frozenset[str]]:
    pairs = (one.split(" = ") for one in " ".join(_PHRASES.split()).split(" / "))
    return {phrase: frozenset(map(stem, names.split())) for phrase, names in pairs}
