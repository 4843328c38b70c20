"""A page about every command, made from its own help: ``python -m session_memory.cli.kit.reference
docs`` writes ``docs/cli.md`` and the pages below ``docs/cli``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from session_memory.cli import main
from session_memory.cli.kit.command import PROGRAM, WITHOUT_SHARED
from session_memory.cli.kit.program import sections

COLUMNS = 88
MADE_BY = "<!-- Made by: python -m session_memory.cli.kit.reference docs -->"
INTRODUCTION = f"""\
# The command line

{MADE_BY}

Every command takes `--help`, `--store`, `--config`, `--json`, `--no-color` and `--quiet`, before or
after its name.

**Exit status**: 0 done · 1 failed · 2 wrong usage · 3 done, but with problems · 130 interrupted.

**JSON**: with `--json` the answer, and nothing else, is one JSON value on stdout: ASCII, on one
line unless stdout is a terminal. Its shape is a contract: fields are added, never renamed or
removed. A failure is `{{"error": {{"kind", "message", "hint"}}}}` on stderr.

**Text**: answers go to stdout; remarks, progress and errors go to stderr. An error is a line
`error: …`, mostly followed by `hint: …`. What comes from a log is shown with control characters,
escape sequences and direction overrides made visible. Times are local; the JSON has them in UTC.

**Sessions** are named by uid (`claude:5b0c6a1e-…`), native id, or a beginning of either, of four
characters or more, that only one session has. Of a session and its subagents, a shared beginning
means the session; a subagent is `<beginning>:<beginning of its own id>`.

**Periods** for `--since` and `--until`: `2026-07-01`, `2026-07`, `2026-07-01T10:00`, `30min`,
`12h`, `7d`, `2w`, `today`, `yesterday`. Days and months are local and included whole; a session
counts if any moment of it lies in the period.

| variable | what it says |
|---|---|
| `SESSION_MEMORY_STORE` | where the store is; by default `~/.session-memory/memory.db` |
| `SESSION_MEMORY_CONFIG` | the configuration file; by default `~/.session-memory/config.toml` |
| `SESSION_MEMORY_HOST` | the name this machine collects under; by default its own |
| `HOME` | below it, the agents' logs are looked for |
| `CLAUDE_CONFIG_DIR`, `XDG_CONFIG_HOME` | where Claude Code's are, when not in `~/.claude` |
| `CODEX_HOME` | where Codex's are, when not in `~/.codex` |
| `GROK_HOME` | where Grok's are, when not in `~/.grok` |
| `PAGER` | the program that shows long answers on a terminal; by default `less -R`; empty: none |
| `NO_COLOR` | no colours, when it is not empty |
| `SESSION_MEMORY_DEBUG` | a traceback where there would be a message, when it is not empty |

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
    (docs / "cli").mkdir(exist_ok=True)
    for old in (docs / "cli").glob("*.md"):
        if f"cli/{old.name}" not in made:
            old.unlink()
    for name, text in made.items():
        (docs / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
