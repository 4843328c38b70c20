"""A session in which everything that a log can say is an attack."""

from pathlib import Path

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call, text, thinking

LONE = "\ue000"
ESCAPES = (
    "\x1b[2J\x1b]8;;https://x.example\x07link\x1b]8;;\x07\x1b]52;c;cHduZWQ=\x07\x1bP1;2q\x1b\\"
)
CONTROLS = f"{ESCAPES}\x9b31m\x9d0;t\x9c\rover\b\x00\x7f\u202egnp.exe\u2066\u200b\ufeff{LONE}"
MARKUP = (
    "<script>document.title='pwned';window.pwned=1</script></style></title></textarea>"
    "<img src='{server}/img' onerror='window.pwned=1'><svg onload=window.pwned=1>"
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe><base href='{server}/'>"
    "<link rel=stylesheet href='{server}/css'><meta http-equiv=refresh content='0;{server}/go'>"
    "<a href='javascript:window.pwned=1'>x</a>\" onmouseover=\"window.pwned=1\" ' autofocus "
    "[click](javascript:window.pwned=1) ![pic]({server}/pic) [data](data:text/html,x)"
    " <{server}/auto> [red]rich[/red] --> ]]> {{{{7*7}}}} &lt;script&gt;"
)


def hostile(server: str = "http://192.0.2.1") -> str:
    return f"{CONTROLS} {MARKUP.format(server=server)}"


def hostile_home(path: Path, server: str = "http://192.0.2.1") -> ClaudeHome:
    """A session in which everything that a log can say is an attack."""
    evil = hostile(server)
    home = ClaudeHome(path, cwd=f"/home/{evil}")
    log = home.session("evil0000", slug="evil")
    log.custom_title(evil)
    log.prompt(f"{evil}\n```\n</pre>{evil}\n````\n# You\n")
    log.answer(thinking(evil), text(f"# Claude\n{evil}\n\n> {evil}\n\n| a |\n|---|\n| {evil} |"))
    log.answer(call(evil, "odd", **{evil: evil, "path": evil}))
    log.result(evil, is_error=True)
    log.answer(call("Bash", command=evil))
    log.result(f"{evil}\n" * 40)
    log.answer(call("Edit", file_path=f"/w/{evil}", old_string=evil, new_string=f"{evil}\nmore"))
    log.result(evil)
    log.answer(call("Write", file_path=f"/w/{evil}.html", content=f"{evil}\n" * 60))
    log.result(evil)
    option = {"label": evil, "description": evil}
    log.answer(call("AskUserQuestion", "ask", questions=[{"question": evil, "options": [option]}]))
    log.result(f'User has answered your questions: "{evil}"="{evil}".')
    log.slash_command("evil", evil)
    log.local_command("model", evil)
    log.notification(evil)
    agent = home.subagent(log, "a1")
    agent.answer(text(evil))
    for file in home.write().rglob("*.jsonl"):
        # No encoder writes half a character; agents do.
        file.write_bytes(file.read_bytes().replace(LONE.encode(), b"\\ud800"))
    return home


def collected(home: Path, where: Path | str) -> None:
    config = Config()
    with open_store(where) as store:
        sync(store, config, roots(config, (home,)), host="here")
