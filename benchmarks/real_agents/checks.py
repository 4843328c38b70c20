"""What one agent has to show, check by check."""

import json
import re
from dataclasses import dataclass, field

from real_agents.agents import SERVER
from real_agents.planted import CHECKED_FILES, KNOWN, MENDED, QUERY, RECALLED, UNKNOWN, plant
from real_agents.prefix import broken_prefix
from real_agents.running import PLUGIN, Bed
from real_agents.script import Script
from real_agents.settings_files import not_only_ours
from session_memory.conformance.place import make_repository
from session_memory.conformance.reply import Reply
from session_memory.conformance.running import Run
from session_memory.conformance.sent import Sent
from session_memory.conformance.server import Model

CHECKS = {
    "install": "`install` succeeds, a second time it changes nothing",
    "undo": "`uninstall` restores every file and directory at once",
    "recall": "the answer of `recall` is in the next request",
    "fix": "the answer of `fix` is in the next request",
    "unknown": "an unknown error injects nothing",
    "injected": "a known error: its fix is in the next request",
    "prefix": "before it, the request is byte for byte the earlier one",
    "once": "the same error again injects nothing more",
    "collected": "the sessions are in the store after they ended",
    "ended": "no process is left behind",
    "uninstall": "`uninstall` after the sessions restores every file",
    "prompt": "with the hook `prompt`, a session that did the task is in the first request",
    "start": "with the hook `start`, a line about the repository is in the first request",
    "gone": "if the program was deleted, the agent works as without it",
    "beside": "installed also in an agent whose settings it reads: all of this holds",
}
ABSENT = b"\0"
TASK = "Let the currency table carry net amounts here as well."
ASKED = "PriceTableError: currency table EUR has no column net_minor"
# Some agents escape the marks around what a hook says.
MARK = re.compile(r"(?:<|&lt;)session-memory ref=")
START_MARK = re.compile(r"(?:<|&lt;)session-memory repo=")


@dataclass
class Result:
    """How an agent did. `failed` has a reason for each check that did not hold."""

    agent: str
    version: str
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def check(self, name: str, reason: str | None) -> None:
        """A check that was made; without a reason it holds."""
        if reason:
            self.failed.setdefault(name, reason)
        elif name not in self.passed:
            self.passed.append(name)

    def state(self, name: str) -> str:
        return "no" if name in self.failed else "yes" if name in self.passed else "–"


def examine(bed: Bed, model: Model, result: Result) -> None:
    """Everything about one agent."""
    agent, place = bed.agent, bed.place
    agent.configure(place)
    agent.trust(place)
    make_repository(place, CHECKED_FILES, bed.environment)
    plant(bed.memory, bed.store, place.repo, place.home.parent / "planted")
    before = _files(bed)
    if bed.level == PLUGIN:
        reason = bed.add_plugin()
        result.check("install", reason)
        if reason is None:
            _check_sessions(bed, model, result)
        return
    if not _install(bed, result):
        return
    _check_undo(bed, before, result)
    _install(bed, result)
    installed = _files(bed)
    _check_sessions(bed, model, result)
    _check_uninstall(bed, before, installed, result)
    _check_optional(bed, model, result)
    _check_gone(bed, model, result)
    if agent.reads:
        _check_beside(bed, model, result)


def _check_optional(bed: Bed, model: Model, result: Result) -> None:
    """The hooks that are off by default: they add to the first request, and to no later one."""
    agent, before = bed.agent, _files(bed)
    if reason := bed.install(agent.name, "--hooks", "failure,end,prompt,start"):
        result.check("prompt", reason)
        return
    has, installed = bed.hooks(), _files(bed)
    replies = (Reply("I look.", (agent.shell("cat README.md"),)), Reply("Done."))
    script = Script("recalls", agent.shell("").name, TASK, replies)
    run = bed.play(model, script)
    asked = script.requests
    reason = _missing(run, asked, 1)
    if reason is None and (part := broken_prefix(asked[1], asked[0])):
        reason = f"the prefix changed: {part}"
    for name, mark in (("prompt", MARK), ("start", START_MARK)):
        if name in has:
            counts = [len(mark.findall(sent.everything)) for sent in asked]
            wrong = None if counts[:2] == [1, 1] else f"{counts} injected texts"
            result.check(name, reason or wrong)
    _check_uninstall(bed, before, installed, result)


def _check_sessions(bed: Bed, model: Model, result: Result) -> None:
    runs = [_asks(bed, model, result), _fails(bed, model, result)]
    left = [command for run in runs for command in run.left]
    result.check("ended", f"still running: {'; '.join(left)}" if left else None)
    _check_collected(bed, result)


def _check_gone(bed: Bed, model: Model, result: Result) -> None:
    """The user deleted the program and did not uninstall it before."""
    before = _files(bed)
    if reason := bed.install(bed.agent.name, "--hooks", "failure,end,prompt,start"):
        result.check("gone", reason)
        return
    for name in _changed(before, _files(bed)):
        file = bed.place.home.parent / name
        if file.is_file():
            gone = f"{bed.memory}-that-is-gone".encode()
            file.write_bytes(file.read_bytes().replace(bed.memory.encode(), gone))
    seen = Result(result.agent, result.version)
    _fails(bed, model, seen)
    # Nothing is injected now; everything else is as it was.
    seen.failed.pop("injected", None)
    result.check("gone", "; ".join([*seen.failed.values(), *seen.remarks]) or None)
    bed.uninstall(bed.agent.name)


def _check_beside(bed: Bed, model: Model, result: Result) -> None:
    """Nothing is answered or injected twice if two agents' settings have our parts."""
    beside, before = Result(result.agent, result.version), _files(bed)
    for name in (bed.agent.reads, bed.agent.name):
        beside.check("install", bed.install(name))
    installed = _files(bed)
    for run in (_asks(bed, model, beside), _fails(bed, model, beside)):
        if run.left:
            beside.check("ended", f"still running: {'; '.join(run.left)}")
    beside.check("uninstall", bed.uninstall(bed.agent.reads))
    _check_uninstall(bed, before, installed, beside)
    reasons = [f"{name}: {reason}" for name, reason in beside.failed.items()]
    result.check("beside", "; ".join(reasons) or None)


def _install(bed: Bed, result: Result) -> bool:
    for times in ("first", "second"):
        here = _files(bed)
        if reason := bed.install(bed.agent.name):
            result.check("install", f"the {times} time: {reason}")
            return False
        if times == "second" and (changed := _changed(here, _files(bed))):
            result.check("install", f"the second time changed {', '.join(changed)}")
    result.check("install", None)
    return True


def _check_undo(bed: Bed, before: dict[str, bytes | None], result: Result) -> None:
    reason = bed.uninstall(bed.agent.name)
    changed = _changed(before, _files(bed))
    result.check("undo", reason or (f"not as before: {', '.join(changed)}" if changed else None))


def _asks(bed: Bed, model: Model, result: Result) -> Run:
    agent = bed.agent
    server = agent.plugin_server if bed.level == PLUGIN else SERVER
    failed = {"error": ASKED, "command": KNOWN}
    script = Script(
        "asks",
        agent.shell("").name,
        "Scripted session A: look up what is known about the price check.",
        (
            Reply("I look it up.", (agent.memory(server, "recall", {"query": QUERY}),)),
            Reply("And the error.", (agent.memory(server, "fix", failed),)),
            Reply("That is all."),
        ),
    )
    run = bed.play(model, script)
    result.seconds["asks"] = round(run.seconds, 1)
    asked = script.requests
    for name, place, words in (("recall", 1, RECALLED), ("fix", 2, MENDED)):
        reason = _missing(run, asked, place)
        if reason is None and words not in _new_text(asked, place):
            reason = f"not in the request: {words}; it has: {_new_text(asked, place)[-300:]}"
        result.check(name, reason)
    return run


def _fails(bed: Bed, model: Model, result: Result) -> Run:
    agent = bed.agent
    script = Script(
        "fails",
        agent.shell("").name,
        "Scripted session B: run the checks of the repository.",
        (
            Reply("The stock first.", (agent.shell(UNKNOWN),)),
            Reply("Then the prices.", (agent.shell(KNOWN),)),
            Reply("Once more.", (agent.shell(KNOWN),)),
            Reply("Both fail."),
        ),
    )
    run = bed.play(model, script)
    result.seconds["fails"] = round(run.seconds, 1)
    asked = script.requests
    counts = [len(MARK.findall(sent.text)) for sent in asked]
    for place, error in ((1, "StockDriftError"), (2, "PriceTableError"), (3, "PriceTableError")):
        if _missing(run, asked, place) is None and error not in _new_text(asked, place):
            result.remarks.append(f"request {place} of the failing session lacks {error}")
    result.check("unknown", _missing(run, asked, 1) or _grown(counts, 1, 0))
    injected = _missing(run, asked, 2) or _grown(counts, 2, 1)
    if injected is None and MENDED not in _new_text(asked, 2):
        injected = f"the injected text does not name {MENDED}"
    result.check("injected", injected)
    result.check("once", _missing(run, asked, 3) or _grown(counts, 3, 0))
    broken = [
        f"request {place}: {part}"
        for place in range(1, min(len(asked), 4))
        if (part := broken_prefix(asked[place], asked[place - 1]))
    ]
    result.check("prefix", _missing(run, asked, 3) or "; ".join(broken) or None)
    return run


def _missing(run: Run, asked: list[Sent], place: int) -> str | None:
    if place < len(asked):
        return None
    status = "it was stopped" if run.status is None else f"status {run.status}"
    return f"{len(asked)} requests only ({status}): {run.output.strip()[-400:]}"


def _new_text(asked: list[Sent], place: int) -> str:
    """What the conversation of a request has behind that of the earlier one."""
    return asked[place].text.removeprefix(asked[place - 1].text)


def _grown(counts: list[int], place: int, wanted: int) -> str | None:
    grown = counts[place] - counts[place - 1]
    return None if grown == wanted else f"{grown} injected texts in request {place}"


def _check_collected(bed: Bed, result: Result) -> None:
    """Both sessions are looked for by the beginning of their prompts."""
    lacking = []
    for name in ("session A", "session B"):
        words = ("search", f'"Scripted {name}"', "--flavor", bed.agent.name, "--json")
        if not json.loads(bed.ask(*words).stdout or "{}").get("hits"):
            lacking.append(name)
    result.check("collected", f"not collected: {', '.join(lacking)}" if lacking else None)


def _check_uninstall(
    bed: Bed,
    before: dict[str, bytes | None],
    installed: dict[str, bytes | None],
    result: Result,
) -> None:
    touched = _changed(before, installed)
    used = _files(bed)
    if reason := bed.uninstall(bed.agent.name):
        result.check("uninstall", reason)
        return
    after, wrong = _files(bed), []
    for name in touched:
        own, now = used.get(name, ABSENT), after.get(name, ABSENT)
        if own in (installed.get(name, ABSENT), ABSENT):
            is_used = now is None and any(other.startswith(f"{name}/") for other in after)
            if now != before.get(name, ABSENT) and not is_used:
                wrong.append(f"{name} is not as before")
        elif reason := not_only_ours(name, own or b"", now or b""):
            wrong.append(f"{name}, which the agent changed: {reason}")
        else:
            result.remarks.append(f"{name} was changed by the agent itself; only our parts went")
    result.check("uninstall", "; ".join(wrong) or None)


def _files(bed: Bed) -> dict[str, bytes | None]:
    """Every file and directory of the agent's world, but for our own; directories have None."""
    found: dict[str, bytes | None] = {}
    for root in (bed.place.home, bed.place.repo):
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root.parent))
            if name.startswith(("home/.session-memory", "webshop/.git/")) or path.is_socket():
                continue
            if path.is_symlink():
                found[name] = str(path.readlink()).encode()
            else:
                found[name] = path.read_bytes() if path.is_file() else None
    return found


def _changed(one: dict[str, bytes | None], other: dict[str, bytes | None]) -> list[str]:
    names = sorted(one.keys() | other.keys())
    return [name for name in names if one.get(name, ABSENT) != other.get(name, ABSENT)]
