"""Print the completion script for a shell.

The script completes commands, options, and what is in the store: ids of sessions, patterns and
lessons, and names of repositories, models and agents. Without an argument, it is the script for the
shell in the variable SHELL.
"""

import os

import click
from click.shell_completion import get_completion_class

from session_memory.cli.kit.command import PROGRAM, make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.program import COMPLETE
from session_memory.cli.kit.settings import Settings

SHELLS = ("bash", "zsh", "fish")


@make_command(
    examples=(
        ("completion bash >> ~/.bashrc", "for bash"),
        ("completion zsh > ~/.zfunc/_session-memory", "for zsh, with ~/.zfunc in fpath"),
        ("completion fish > ~/.config/fish/completions/session-memory.fish", "for fish"),
    ),
    json_shape='{"shell", "script"}',
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def command(ctx: click.Context, shell: str | None) -> None:
    settings: Settings = ctx.obj
    shell = shell or os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119
    found = get_completion_class(shell) if shell in SHELLS else None
    if found is None:
        raise click.UsageError(f"give one of the shells {', '.join(SHELLS)}")
    # `source()` would start a bash to get its version, although another shell may read the script.
    completer = found(ctx.find_root().command, {}, PROGRAM, COMPLETE)
    script = completer.source_template % completer.source_vars()
    if settings.as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
