"""Makes a page of documentation for every command from its help, and for every agent.

``python -m session_memory.cli.kit.reference docs`` writes ``docs/cli.md``, ``docs/cli/*.md`` and
``docs/agents/*.md``.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from session_memory.cli import main
from session_memory.cli.kit.command import PROGRAM, WITHOUT_SHARED
from session_memory.cli.kit.program import sections
from session_memory.install.pages import agent_pages

COLUMNS = 88
MADE_BY = "<!-- Made by: python -m session_memory.cli.kit.reference docs -->"
INTRODUCTION = f"""\
# The command line

{MADE_BY}

Try `session-memory` alone: it sums up the store and says what to do next. `session-memory --help`
lists the commands, `session-memory help COMMAND` explains one.

Every command takes `--help`, `--store`, `--config`, `--json`, `--no-color` and `--quiet`, before or
after its name. Commands that moved into a group still work under their old names (`session-memory
verify` is `session-memory store verify`); the old names are not listed.

**Exit status**: 0 done · 1 failed · 2 wrong usage · 3 done, but with problems · 130 interrupted.

**JSON**: with `--json` the answer is one JSON value on stdout and nothing else. It is ASCII, on one
line unless stdout is a terminal. Its shape is a contract: fields are added, never renamed or
removed. An error is `{{"error": {{"kind", "message", "hint"}}}}` on stderr.

**Text**: answers go to stdout; remarks, progress and errors go to stderr. An error is a line
`error: …`, usually followed by `hint: …`. Control characters, escape sequences and direction
overrides in texts from logs are made visible. Times are local; the JSON has them in UTC.

**Sessions** are named by uid (`claude:5b0c6a1e-…`), native id, or the first four or more characters
of either, if they fit only one session. If they fit a session and its subagents, the session is
meant. Name a subagent as `<beginning of the session's id>:<beginning of its own id>`.

**Periods** for `--since` and `--until`: `2026-07-01`, `2026-07`, `2026-07-01T10:00`, `30min`,
`12h`, `7d`, `2w`, `today`, `yesterday`. Days and months are local, and the whole day or month
counts. A session is in the period if any part of it is.

| variable | meaning |
|---|---|
| `SESSION_MEMORY_STORE` | where the store is; by default `~/.session-memory/memory.db` |
| `SESSION_MEMORY_CONFIG` | an existing configuration file; else `~/.session-memory/config.toml` |
| `SESSION_MEMORY_HOST` | the name of this machine in the store; by default its host name |
| `HOME` | the directory below which agents keep their logs |
| `CLAUDE_CONFIG_DIR`, `XDG_CONFIG_HOME` | where Claude Code keeps its logs, if not in `~/.claude` |
| `CODEX_HOME` | where Codex keeps its logs, if not in `~/.codex` |
| `GROK_HOME` | where Grok keeps its logs, if not in `~/.grok` |
| `PAGER` | the program that shows long answers on a terminal; by default `less -R`, none if empty |
| `NO_COLOR` | if not empty, no colours |
| `SESSION_MEMORY_DEBUG` | if not empty, errors are shown with a traceback |

Completion for your shell: `{PROGRAM} completion bash`, `zsh` or `fish` prints the script.
"""


def pages() -> dict[str, str]:
    """Every page by its path below ``docs``; the same on every machine and terminal."""
    root = click.Context(
        main,
        info_name=PROGRAM,
        terminal_width=COLUMNS,
        max_content_width=COLUMNS,
        **main.context_settings,
    )
    made = {"cli.md": "\n".join([INTRODUCTION, *_help(PROGRAM, main, root), *_list()])}
    for _, files in sections():
        for file in files:
            made[f"cli/{file.name}.md"] = "\n".join(_page(file.name, root))
    return made


def _list() -> Iterator[str]:
    for title, files in sections():
        yield f"## {title}\n"
        yield from (f"- [{file.name}](cli/{file.name}.md): {file.line}" for file in files)
        yield ""


def _page(name: str, root: click.Context) -> Iterator[str]:
    command = main.get_command(root, name)
    if command is None:
        raise LookupError(name)
    ctx = click.Context(command, root, name)
    ctx.meta[WITHOUT_SHARED] = True
    yield f"# {PROGRAM} {name}\n"
    yield f"{MADE_BY}\n"
    yield _text(command, ctx)
    yield from _members(name, command, ctx)
    yield "What holds for every command: [cli.md](../cli.md).\n"


def _members(name: str, command: click.Command, ctx: click.Context) -> Iterator[str]:
    """The commands of a group, one level below it."""
    if not isinstance(command, click.Group):
        return
    for member in command.list_commands(ctx):
        found = command.get_command(ctx, member)
        if found is not None:
            within = click.Context(found, ctx, member)
            yield from _help(f"{name} {member}", found, within)


def _help(title: str, command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f"## {title}\n"
    yield _text(command, ctx)


def _text(command: click.Command, ctx: click.Context) -> str:
    return f"```text\n{command.get_help(ctx).rstrip()}\n```\n"


def write(docs: Path) -> None:
    """Write all pages, and remove those of commands that no longer exist."""
    made = pages()
    for folder in ("cli", "agents"):
        (docs / folder).mkdir(exist_ok=True)
    for old in (docs / "cli").glob("*.md"):
        if f"cli/{old.name}" not in made:
            old.unlink()
    for name, text in {**made, **agent_pages()}.items():
        (docs / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
