"""Write sessions for tests of detectors. It is known what the detectors must find in each.

    home = ClaudeHome(tmp_path)
    truth = plant(home, sessions=100, seed=1)      # uid -> the types of its signals
    home.write()

Every session has harmless work, things that a detector must not find although they look alike, and
at most one thing that it must find. The same seed writes the same bytes.
"""

from collections import defaultdict
from collections.abc import Callable
from random import Random

from session_memory.testing.claude import ClaudeHome, ClaudeLog, call, usage

Truth = dict[str, set[str]]
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in "aeiou")
_INSTRUCTIONS = (
    ("use uv for installing, not pip", "please use uv and not pip for installing"),
    ("never commit without running the linter", "never commit without the linter running first"),
    ("don't touch the generated client code", "please don't touch generated client code"),
)
_DAY_MS = 86_400_000
_MODULES = ("orjsonx", "pydantix", "numpyro_lite")


class Planting:
    """A session while it is written.

    ``shares`` lists signals that count only if several sessions have them: the type of the signal,
    and what the sessions have in common.
    """

    def __init__(self, log: ClaudeLog, random: Random) -> None:
        self.log, self.random = log, random
        self.shares: list[tuple[str, str]] = []

    def word(self) -> str:
        return "".join(self.random.choices(_SYLLABLES, k=4))

    def path(self) -> str:
        return f"{self.log.cwd}/src/{self.word()}.py"

    def error(self) -> str:
        return f"ValueError: {self.word()} is no {self.word()}"

    def run(self, command: str, output: str = "", exit_code: int = 0) -> None:
        self.log.run(command, output, exit_code)

    def read(self, path: str, output: str) -> None:
        self.log.answer(call("Read", file_path=path))
        self.log.result(output)

    def fail(self, tool: str, output: str, **arguments: str) -> None:
        self.log.answer(call(tool, **arguments))
        self.log.result(output, is_error=True)


Part = Callable[[Planting], set[str]]


# ------------------------------------------------------------ what must be found


def retry_storm(p: Planting) -> set[str]:
    command, error = f"make {p.word()}", p.error()
    for _ in range(p.random.randint(3, 5)):
        p.run(command, error, exit_code=2)
    return {"retry_storm", "repeated_error"}


def unreachable_model(p: Planting) -> set[str]:
    for attempt in range(1, 5):
        p.log.api_error(attempt)
    p.log.answer("Back again.")
    p.shares.append(("recurring_error", "529"))
    return {"retry_storm", "repeated_error"}


def repeated_error(p: Planting) -> set[str]:
    error = p.error()
    for _ in range(3):
        p.run(f"node {p.word()}.js", error, exit_code=1)
    return {"repeated_error"}


def schema_thrash(p: Planting) -> set[str]:
    for _ in range(p.random.randint(2, 3)):
        issue = f"The required parameter `{p.word()}` is missing"
        error = f"InputValidationError: Grep failed due to the following issue:\n{issue}"
        p.fail("Grep", f"<tool_use_error>{error}</tool_use_error>", query=p.word())
    return {"schema_thrash"}


def permission_denied(p: Planting) -> set[str]:
    for _ in range(2):
        p.log.answer(call("WebFetch", url=f"https://{p.word()}.example/"))
        p.log.deny()
    p.shares.append(("recurring_error", "denied"))
    return {"permission_denied"}


def timeout(p: Planting) -> set[str]:
    name = p.word()
    for _ in range(2):
        p.run(f"./{name}.sh {p.word()}", f"{name}: command timed out", exit_code=124)
    return {"timeout"}


def flaky_then_failed(p: Planting) -> set[str]:
    p.run("pytest -q", "4 passed in 0.10s")
    p.run("pytest -q", f"E   {p.error()}\n1 failed, 3 passed in 0.10s", exit_code=1)
    return {"flaky_test", "failed"}


def flaky_then_passed(p: Planting) -> set[str]:
    p.run("go test ./...", f"--- FAIL: Test{p.word().title()} (0.00s)\nFAIL", exit_code=1)
    p.run("go test ./...", "ok  \texample/app\t0.10s")
    return {"flaky_test", "recovery"}


def flaky_between_looks(p: Planting) -> set[str]:
    p.run("pytest -q", "4 passed in 0.10s")
    p.run(f"git log -3 && cat {p.word()}.py | head -5 2>/dev/null")
    p.read(p.path(), p.word())
    p.run("pytest -q", f"E   {p.error()}\n1 failed, 3 passed in 0.10s", exit_code=1)
    return {"flaky_test", "failed"}


def oversized_output(p: Planting) -> set[str]:
    line = " ".join(p.word() for _ in range(10))
    p.run(f"cat {p.word()}.log", "\n".join(f"{n} {line}" for n in range(400)))
    return {"oversized_output"}


def reread_file(p: Planting) -> set[str]:
    path, body = p.path(), "\n".join(p.word() for _ in range(40))
    for _ in range(5):
        p.read(path, body)
    return {"reread_file"}


def taken_back(p: Planting) -> set[str]:
    for _ in range(2):
        p.log.edit(p.path())
    p.run("git checkout -- .")
    return {"thrown_away"}


def undone_by_hand(p: Planting) -> set[str]:
    path, old, new = p.path(), p.word(), p.word()
    for before, after in ((old, new), (new, old)):
        p.log.answer(call("Edit", file_path=path, old_string=before, new_string=after))
        p.log.result(f"The file {path} has been updated.")
    return {"thrown_away"}


def rewound(p: Planting) -> set[str]:
    before = p.log.head
    p.log.prompt(f"change {p.word()}")
    p.log.edit(p.path())
    p.log.answer("Changed.")
    p.log.rewind(before)
    p.log.prompt(f"leave {p.word()} as it is")
    p.log.answer("As you like.")
    return {"thrown_away"}


def context_overflow(p: Planting) -> set[str]:
    for _ in range(2):
        p.log.compact()
        p.log.answer(f"On with {p.word()}.")
    return {"context_overflow"}


def repeated_instruction(p: Planting) -> set[str]:
    # These words are in no other session. Otherwise the instruction would recur there.
    order = f"{p.word()} the {p.word()} of {p.word()}"
    p.log.prompt(f"please don't {order}")
    p.log.answer("Understood.")
    p.log.prompt(f"don't {order}, please")
    p.log.answer("Sorry.")
    return {"repeated_instruction"}


def failed(p: Planting) -> set[str]:
    p.run("pytest -q", f"E   {p.error()}\n2 failed, 5 passed in 0.30s", exit_code=1)
    return {"failed"}


def nothing_worked(p: Planting) -> set[str]:
    p.log.prompt(f"fetch {p.word()}")
    p.run(f"curl {p.word()}.example", f"curl: could not resolve {p.word()}", exit_code=6)
    p.log.answer("It cannot be reached.")
    return {"failed"}


def abandoned(p: Planting) -> set[str]:
    p.log.answer(f"I think about {p.word()}")
    p.log.interrupt()
    return {"abandoned"}


def clean_pass(p: Planting) -> set[str]:
    p.log.edit(p.path())
    p.run("pytest -q", "0 errors, 0 failed, 12 passed in 0.20s")
    return {"clean_pass"}


def recovery(p: Planting) -> set[str]:
    p.run("pytest -q", f"E   {p.error()}\n1 failed in 0.10s", exit_code=1)
    p.log.edit(p.path())
    p.run("pytest -q", "1 passed in 0.10s")
    return {"recovery"}


def recurring_error(p: Planting) -> set[str]:
    module = p.random.choice(_MODULES)
    trace = (
        f'Traceback (most recent call last):\n  File "{p.path()}", line {p.random.randint(1, 99)}'
    )
    output = f"{trace}\nModuleNotFoundError: No module named '{module}'"
    p.run(f"python {p.word()}.py", output, exit_code=1)
    p.shares.append(("recurring_error", module))
    return set()


def recurring_instruction(p: Planting) -> set[str]:
    wordings = p.random.choice(_INSTRUCTIONS)
    p.log.prompt(p.random.choice(wordings))
    p.log.answer("Will do.")
    p.shares.append(("recurring_instruction", wordings[0]))
    return set()


def budget_overrun(p: Planting) -> set[str]:
    p.log.answer(f"A long look at {p.word()}.", used=usage(20_000, input=10, read=4_000_000))
    return {"budget_overrun"}


def installed_between(p: Planting) -> set[str]:
    p.run("pytest -q", f"E   {p.error()}\n1 failed in 0.10s", exit_code=1)
    p.run(f"pip install {p.word()}", "Successfully installed")
    p.run("pytest -q", "1 passed in 0.10s")
    return {"recovery"}


def written_between(p: Planting) -> set[str]:
    p.run("pytest -q", f"E   {p.error()}\n1 failed in 0.10s", exit_code=1)
    p.run(f"echo {p.word()}=1 > .env")
    p.run("pytest -q", "1 passed in 0.10s")
    return {"recovery"}


def mended_by_hand(p: Planting) -> set[str]:
    p.run("pytest -q", f"E   {p.error()}\n1 failed in 0.10s", exit_code=1)
    p.log.answer("The database is down.")
    p.log.prompt(f"I started {p.word()}, try it once more")
    p.run("pytest -q", "1 passed in 0.10s")
    return {"recovery"}


# ------------------------------------------------------------ near misses


def two_failures(p: Planting) -> set[str]:
    command, error = f"make {p.word()}", p.error()
    p.run(command, error, exit_code=2)
    p.run(command, error, exit_code=2)
    return set()


def read_on(p: Planting) -> set[str]:
    path = p.path()
    for lines in (10, 25, 60, 140, 300):
        p.read(path, "\n".join(p.word() for _ in range(lines)))
    return set()


def nothing_found(p: Planting) -> set[str]:
    for _ in range(4):
        p.run(f"grep -rn {p.word()} src", "", exit_code=1)
    return set()


def long_but_bearable(p: Planting) -> set[str]:
    p.run(f"cat {p.word()}.txt", "\n".join(p.word() for _ in range(1200)))
    return set()


def another_branch(p: Planting) -> set[str]:
    p.log.edit(p.path())
    p.run(f"git checkout -b {p.word()}")
    p.run("git stash list")
    return set()


def asked_again(p: Planting) -> set[str]:
    p.log.prompt(f"show me {p.word()}")
    p.log.answer("Here.")
    p.log.prompt(f"show me {p.word()} too")
    p.log.answer("Here.")
    return set()


def compacted_once(p: Planting) -> set[str]:
    p.log.compact()
    p.log.answer(f"On with {p.word()}.")
    return set()


def edited_and_read(p: Planting) -> set[str]:
    path = p.path()
    for _ in range(4):
        p.read(path, "\n".join(p.word() for _ in range(40)))
        p.log.edit(path)
    return set()


TO_FIND: tuple[Part, ...] = (
    *(retry_storm, unreachable_model, repeated_error, schema_thrash, permission_denied, timeout),
    *(
        flaky_then_failed,
        flaky_then_passed,
        flaky_between_looks,
        oversized_output,
        reread_file,
        taken_back,
    ),
    *(undone_by_hand, rewound),
    *(context_overflow, repeated_instruction, failed, nothing_worked, abandoned, clean_pass),
    # A test is not flaky if something was done between its failing and its passing run, such as
    # `pip install`.
    *(
        recovery,
        installed_between,
        written_between,
        mended_by_hand,
        recurring_error,
        recurring_instruction,
        budget_overrun,
    ),
)
HARMLESS: tuple[Part, ...] = (
    *(two_failures, read_on, nothing_found, long_but_bearable, another_branch, asked_again),
    *(compacted_once, edited_and_read),
)
# The session of a clean pass has no error at all, so only these parts may be in it.
_WITHOUT_ERRORS: tuple[Part, ...] = (read_on, long_but_bearable, another_branch, edited_and_read)


def plant(home: ClaudeHome, *, sessions: int, seed: int, clean: float = 0.3) -> Truth:
    """Add sessions to ``home`` and return the types of signals in each, by its uid.

    ``clean`` is the share of sessions without a signal.
    """
    random = Random(seed)
    truth: Truth = {}
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for number in range(sessions):
        # Each session is on another day: an instruction that is given twice on one day is one task
        # and does not recur.
        home.clock.tick(_DAY_MS)
        log = home.session(f"planted-{seed}-{number:05}")
        planting = Planting(log, random)
        is_clean = random.random() < clean
        truth[log.uid] = write_session(planting, None if is_clean else random.choice(TO_FIND))
        for known in planting.shares:
            shared[known].append(log.uid)
    for (kind, _), uids in shared.items():
        if len(uids) > 1:
            for uid in uids:
                truth[uid].add(kind)
    return truth


def write_session(p: Planting, part: Part | None) -> set[str]:
    """Write one session with ``part`` in it, or without if it is None. Return the types of signals
    in it."""
    others = _WITHOUT_ERRORS if part is clean_pass else HARMLESS
    p.log.prompt(f"work on {p.word()} {p.word()} {p.word()}")
    p.log.answer(f"I look at {p.word()}.")
    found: set[str] = set()
    before, after = p.random.sample(others, 2)
    found |= before(p)
    if part is not None and part in _LAST:
        return found | after(p) | part(p)
    if part is not None:
        found |= part(p)
    found |= after(p)
    # A session in which no command succeeds has failed, so one succeeds here.
    p.run("git status --short", "M app.py")
    p.log.answer(f"Looked at {p.word()}.")
    return found


# These parts must come last in a session: work after them would change its outcome.
_LAST: tuple[Part, ...] = (
    *(abandoned, nothing_worked, failed, flaky_then_failed, flaky_between_looks),
)
