"""Write a folder of plugins that agents install.

An alternative to install for agents with plugins: Claude Code, Codex, Grok, Gemini CLI, Qwen Code
and Copilot CLI. Each plugin has the MCP server, the hooks and the skill. The commands that install
them are printed. Run the command again after an upgrade; the folder is brought up to date.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.install_options import checked_events, hooks_option
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe


@make_command(
    examples=(
        ("plugin ~/session-memory-plugins", "write the folder, show the next commands"),
        ("plugin ~/session-memory-plugins --hooks none", "without hooks"),
    ),
    json_shape='{"path", "files": [path, …], "changed": [path, …], "commands": {AGENT: [line, …]}}',
)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@hooks_option
@click.pass_obj
def command(settings: Settings, directory: Path, hooks: str | None) -> None:
    from session_memory.install.agent import DEFAULT_EVENTS, Request
    from session_memory.install.plugin_folder import folder_files, install_commands, write_folder
    from session_memory.install.program import option_words, program_words

    place = directory.expanduser().absolute()
    words = (*program_words(), *option_words(settings.store, settings.config))
    events = checked_events(hooks)
    request = Request(words, DEFAULT_EVENTS if events is None else events)
    changed = write_folder(place, request)
    commands = install_commands(place, request)
    if settings.as_json:
        files = sorted(str(place / name) for name in folder_files(request))
        values = {"path": str(place), "files": files, "changed": [str(one) for one in changed]}
        print_json({**values, "commands": commands})
        return
    for lines in commands.values():
        for line in lines:
            click.echo(safe(line))
    done = "Written" if changed else "Up to date"
    remark(settings, f"{done}: {short_path(place)}. Install it with the commands above.")
