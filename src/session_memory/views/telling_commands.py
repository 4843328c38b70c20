"""Choose the commands of a session that show how its task was done.

Commands that only look at things are left out. So are commits, because answers list them apart.
What an agent adds only to shorten an output (``2>&1 | tail -5``) is cut off.
"""

from collections.abc import Collection, Iterator
from itertools import groupby

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import without_place
from session_memory.derive.detecting import Program, programs
from session_memory.learn.digest import CommandUse, Digest
from session_memory.redact import mask_cut
from session_memory.search.recall_terms import terms_in

LONGEST = 400
_LOOKERS = """
    cat head tail less more ls ll tree pwd cd echo printf which type file stat wc find fd grep rg ag
    sed awk sort uniq cut tr jq diff env date true false sleep test read history nl xxd od du df ps
    export set
"""
_LOOKING = frozenset(_LOOKERS.split())
_GIT_LOOKS = frozenset(
    {"status", "log", "diff", "show", "branch", "blame", "ls-files", "remote", "rev-parse"}
)
_GIT_COMMITS = frozenset({"add", "commit"})
_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_INLINE = frozenset({"-c", "-e", "-"})
_VERSIONS = frozenset({"--version", "-V", "-v", "--help"})
_NAMES_OF_SCRIPTS = frozenset({"test", "set", "read", "type", "file", "env", "history"})
_INTERPRETERS = lazy_pattern(r"(?:python|node|ruby|perl|php|bun|deno)[\d.]*")
_STREAMS = lazy_pattern(r"\s*(?:2>&1|[12&]?>\s*/dev/null)")
# No command of use: a script that calls several tools, or a ``cd`` whose long path was cut off,
# together with the command after it.
_SCRIPT = lazy_pattern(r"(?:const|let|var|await|text)\b|cd [^&;]*…$")
_SHORTENED = lazy_pattern(
    r"(?:\s*\|\s*(?:head|tail|grep|egrep|rg|wc|cat|less|sort|uniq|cut)\b[^|]*)+$"
)


def telling_commands(digest: Digest, asked: Collection[str], most: int) -> tuple[str, ...]:
    """Return at most ``most`` commands that worked and changed something.

    Those with ``asked`` terms (words of the question) come first, then the most frequent.
    """
    paths = {file.path for file in digest.files}
    worked = [one for one in digest.commands if one.failures < one.runs and one.text not in paths]
    runs: dict[str, int] = {}
    for one in worked:
        if not _SCRIPT.match(one.text) and _does_something(one):
            shown = _shown(one.text)
            runs[shown] = runs.get(shown, 0) + one.runs
    wanted = set(asked)
    order = sorted(
        (text for text in runs if text),
        key=lambda text: (-len(wanted.intersection(terms_in(text))), -runs[text], text),
    )
    return tuple(order[:most])


def _shown(text: str) -> str:
    plain = _SHORTENED.sub("", _STREAMS.sub("", without_place(text)))
    return mask_cut(plain.strip(" …") and plain.strip())[:LONGEST]


def _does_something(command: CommandUse) -> bool:
    chains = list(_chains(command.text))
    if "<<" in command.text and chains and _looks(chains[0]):
        # What follows is a script for the first program, not for the shell.
        return False
    return any(not _looks(chain) for chain in chains)


def _chains(text: str) -> Iterator[list[Program]]:
    """Yield the programs of each simple command. A wrapper or runner comes before the program that
    it starts."""
    for _, chain in groupby(programs(text), key=lambda program: program.command):
        yield list(chain)


def _looks(chain: list[Program]) -> bool:
    """Whether a simple command shows nothing about the task: it only looks at things, only commits,
    runs a script that is in the command itself, or its program was cut off."""
    first, last = chain[0], chain[-1]
    git = next((program for program in chain if program.name == "git"), None)
    if git is not None:
        return _subcommand(git) in _GIT_LOOKS | _GIT_COMMITS
    if _INTERPRETERS.fullmatch(first.name) and (
        not first.arguments or first.arguments[0] in _INLINE | _VERSIONS
    ):
        return True
    # "npm run test" runs a script; it only has the name of the shell's "test".
    is_cut = last.name.endswith("…")
    return is_cut or first.name in _LOOKING or last.name in _LOOKING - _NAMES_OF_SCRIPTS


def _subcommand(program: Program) -> str:
    words = iter(program.arguments)
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return "status"
