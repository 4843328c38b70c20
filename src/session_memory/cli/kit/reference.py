"""Write the generated pages of the documentation.

``python -m session_memory.cli.kit.reference docs`` writes ``docs/cli.md`` and ``docs/cli/*.md``
from the help of the commands, and ``docs/agents/*.md`` from the installer.
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

Every command takes `--help`, `--store`, `--config`, `--json`, `--no-color` and `--quiet`. These
options may stand before or after the command's name. Commands that moved into a group still work
under their old names, which are not listed: `session-memory verify` runs `session-memory store
verify`.

**Exit status**: 0 done · 1 failed · 2 wrong usage · 3 done, but with problems · 130 interrupted.

**Evicted sessions**: retention moves old logs out of the store, into the archive. An answer that
needs the events of many sessions leaves out evicted sessions, says how many they are (in JSON:
`evicted`), and ends with exit status 3. A command that shows one evicted session reads it from the
archive.

**JSON**: with `--json`, stdout gets the answer as one JSON value and nothing else (`watch` and
`live tail` print one value on each line). It is ASCII, on one line unless stdout is a terminal. A
later release may add fields, but never renames or removes one. Amounts are in `microdollars`,
millionths of a dollar; `unpriced_tokens` are not in them, because their model has no price. An
error is `{{"error": {{"kind", "message", "hint"}}}}` on stderr.

**Text**: answers go to stdout; remarks, progress and errors go to stderr. An error is a line
`error: …`, usually followed by `hint: …`. Control characters, escape sequences and direction
overrides in texts from logs are shown as visible escapes. Times are local; in JSON they are UTC.

**Sessions**: to name a session, give its uid (`claude:5b0c6a1e-…`), its native id, or at least the
first four characters of either, if only one session begins so. If a session and its subagents begin
so, the session is meant. Name a subagent as `<beginning of the session's id>:<beginning of its own
id>`. A session's title, the name that you gave it, or the beginning of either names it as well.

**Periods** for `--since` and `--until`: `2026-07-01`, `2026-07`, `2026-07-01T10:00`, `30min`,
`12h`, `7d`, `2w`, `today`, `yesterday`. Days and months are local. A day or month includes all of
it, so `--until 2026-07` includes July 31. A list shows a session if any part of the session is in
the period. `search`, `cost` and `stats` count what happened in the period. `retro`, `patterns` and
`search --by session` take the sessions that ended in the period.

**Environment variables** (agents that are not in this table have their variables on their page in
[formats/](formats/)):

| variable | meaning |
|---|---|
| `SESSION_MEMORY_STORE` | where the store is; by default `~/.session-memory/memory.db` |
| `SESSION_MEMORY_CONFIG` | an existing configuration file; else `~/.session-memory/config.toml` |
| `SESSION_MEMORY_HOST` | the name of this machine in the store; by default its host name |
| `HOME` | the directory below which agents keep their logs |
| `CLAUDE_CONFIG_DIR` | where Claude Code keeps its logs, if not in `~/.claude` or \
`~/.config/claude`; a comma separates several directories |
| `XDG_CONFIG_HOME` | the directory to use instead of `~/.config` |
| `CODEX_HOME` | where Codex keeps its logs, if not in `~/.codex` |
| `GROK_HOME` | where Grok keeps its logs, if not in `~/.grok` |
| `PAGER` | the program that shows long answers on a terminal (default: `less -R`); if empty, none |
| `NO_COLOR` | if not empty, nothing is coloured |
| `SESSION_MEMORY_DEBUG` | if not empty, errors are shown with a traceback |

**Completion** for your shell: `{PROGRAM} completion bash` (or `zsh`, `fish`) prints the script.
"""


def pages() -> dict[str, str]:
    """Return the pages of ``docs/cli`` by their path; they do not depend on the terminal."""
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
    """Yield a section for each command of a group; nothing if ``command`` is no group."""
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
    """Write all pages below ``docs``; remove pages of commands that no longer exist."""
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
