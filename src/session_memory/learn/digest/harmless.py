"""Recognize calls that only look: they read or print something and change nothing.

Every other call may have changed something: it may have installed a package, started a server or
run a script.
"""

from session_memory.core.injected import MARK, is_own_answer, is_own_tool
from session_memory.derive.detecting import Program, programs
from session_memory.learn.digest.carried_commands import remote_text
from session_memory.learn.digest.steps import FinishedCall

_READING = (
    "read read_file readfile view view_file open_file notebookread readmanyfiles"
    " list_dir ls glob grep grep_search search_file_content codebase_search file_search"
    " webfetch websearch web_search web_fetch google_web_search toolsearch"
    " todowrite todoread update_plan write_todos bashoutput"
)
_READERS = frozenset(_READING.split())
_LOOKING = (
    "cat head tail less more grep egrep fgrep rg ag ls tree find fd wc sort uniq cut tr awk gawk"
    " sed jq yq diff cmp file stat du df pwd cd echo printf true : sleep date which type whoami"
    " uname id env printenv ps pgrep nl column basename dirname realpath test [ tee journalctl ss"
    " netstat lsof uptime free Get-Content Get-ChildItem Get-Item Get-Command Get-Process Test-Path"
    " Select-String Select-Object Where-Object Sort-Object Format-Table Format-List Measure-Object"
    " Write-Output Write-Host Out-String"
)
_LOOKERS = frozenset(_LOOKING.split())
_GIT_LOOKING = "status log diff show blame grep ls-files rev-parse describe shortlog"
_GIT = frozenset(_GIT_LOOKING.split())
# Programs that mostly change things, and the arguments with which they only print something.
_ASKING = (
    "npm pnpm yarn bun pip pip3 uv cargo go gem bundle composer brew apt make docker kubectl gh"
    " poetry terraform mvn gradle dotnet node python python3 fnm nvm mise corepack systemctl"
)
_ASKED = frozenset(_ASKING.split())
_QUESTIONS = frozenset(
    {"ls", "list", "why", "outdated", "view", "info", "show", "status", "help", "--help"}
    | {
        "--version",
        "-V",
        "version",
        "freeze",
        "ps",
        "images",
        "-qp",
        "--dry-run",
        "logs",
        "inspect",
    }
)
# Commands of our own program that show what earlier sessions did.
_OWN_COMMANDS = (
    "sessions ls show search fix cost stats retro open doctor commands diff digest files status"
    " task timeline tree how similar budget patterns"
)
_OWN = frozenset(_OWN_COMMANDS.split())
_ACTING = frozenset({"-delete", "-exec", "-execdir", "-ok", "-i", "--in-place"})


def only_looks(finished: FinishedCall) -> bool:
    """Whether the call only reads or prints, and surely changes nothing."""
    return looks_only(finished, finished.call.summary)


def looks_only(finished: FinishedCall, command: str) -> bool:
    """Like `only_looks`, given the whole text of the call (``command``): its summary may be cut."""
    if "edit" in finished.kinds:
        return False
    if not finished.is_shell:
        return (finished.call.tool or "").lower() in _READERS
    return command_only_looks(command)


def asks_memory(finished: FinishedCall) -> bool:
    """Whether the call asked Session Memory itself about earlier sessions, and got an answer.

    A tool of its MCP server is known by its name or, if the agent renamed it, by the first line of
    the answer. A shell command counts if it runs Session Memory, and beside it only programs that
    read something.
    """
    call, result = finished.call, finished.result
    if is_own_tool(call.tool or "") or is_own_answer(result.summary):
        return True
    if finished.failed or not finished.is_shell or MARK not in call.summary:
        return False
    return command_only_looks(call.summary)


def command_only_looks(command: str) -> bool:
    """Whether every program in a shell text only reads or prints, and changes nothing."""
    # `programs` lists a program before the programs that it starts. Only the first program of each
    # command is checked: if it starts others, it is not one of those that only look.
    started = {id(one.command): one for one in reversed(list(programs(command)))}
    return bool(started) and all(map(_looks, started.values()))


def _looks(program: Program) -> bool:
    if any(not path.startswith("/dev/") for path in program.command.writes):
        return False
    if program.name == "git":
        return program.arguments[:1] != [] and program.arguments[0] in _GIT
    if program.name == "ssh":
        # A command that another machine would send on to a third one is not looked at.
        remote = remote_text(program.command)
        return bool(remote) and "ssh" not in remote and command_only_looks(remote)
    if program.name == MARK:
        return not _OWN.isdisjoint(program.arguments[:3])
    if program.name == "tee" and program.arguments:
        return False
    if program.name == "env" and program.arguments:
        return False
    if program.arguments[-1:] in (["--version"], ["--help"]) or program.arguments == ["-v"]:
        return True
    if program.name == "make" and "-n" in program.arguments[:3]:
        return True
    if program.name in _ASKED and not _QUESTIONS.isdisjoint(program.arguments[:4]):
        return True
    return program.name in _LOOKERS and not _ACTING.intersection(program.arguments)
