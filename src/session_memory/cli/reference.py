"""docs/cli.md, made from the commands' own help: ``python -m session_memory.cli.reference``."""

from collections.abc import Iterator

import click

from session_memory.cli import main
from session_memory.cli.command import PROGRAM, WITHOUT_SHARED

COLUMNS = 88
INTRODUCTION = f"""\
# The command line

<!-- Made by: python -m session_memory.cli.reference > docs/cli.md -->

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
| `NO_COLOR` | no colours, when it is not empty |
| `SESSION_MEMORY_DEBUG` | a traceback where there would be a message, when it is not empty |

Completion for your shell: `{PROGRAM} completion bash`, `zsh` or `fish` prints the script.
"""


def reference() -> str:
    """The whole page; the same on every machine and terminal."""
    root = click.Context(
        main,
        info_name=PROGRAM,
        terminal_width=COLUMNS,
        max_content_width=COLUMNS,
        **main.context_settings,
    )
    return "\n".join([INTRODUCTION, *_help(PROGRAM, main, root), *_sections(root)])


def _sections(root: click.Context) -> Iterator[str]:
    for title, names in main.sections.items():
        yield f"# {title}\n"
        for name in names:
            command = main.get_command(root, name)
            if command is not None:
                ctx = click.Context(command, root, name)
                ctx.meta[WITHOUT_SHARED] = True
                yield from _help(name, command, ctx)
                yield from _members(name, command, ctx)


def _members(name: str, command: click.Command, ctx: click.Context) -> Iterator[str]:
    """The commands of a family, one level below it."""
    if not isinstance(command, click.Group):
        return
    for member in command.list_commands(ctx):
        found = command.get_command(ctx, member)
        if found is not None:
            within = click.Context(found, ctx, member)
            yield from _help(f"{name} {member}", found, within, level="###")


def _help(
    title: str, command: click.Command, ctx: click.Context, level: str = "##"
) -> Iterator[str]:
    yield f"{level} {title}\n"
    yield f"```text\n{command.get_help(ctx).rstrip()}\n```\n"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
