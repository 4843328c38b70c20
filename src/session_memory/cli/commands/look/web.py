"""Open the web page: sessions, transcripts, search and cost.

The server listens on this machine only. The printed address contains a token, which the browser
then keeps. A request without the token gets no data. New lines of your agents' logs appear while
you look. Ctrl-C ends the server. If a server runs for this store already, its page is opened, and
--mcp and --no-watch do not change that server. --port starts a second server.
"""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import running_server

if TYPE_CHECKING:
    from session_memory.web.mcp_endpoint import McpEndpoint


@make_command(
    examples=(
        ("web", "open the page in the browser"),
        ("web --no-open --port 8900", "only print its address"),
        ("web --no-watch", "do not collect what agents write meanwhile"),
    ),
    json_shape='{"address", "port"}, printed when the server is ready; the browser is not opened.',
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port; by default the one used last, or a free one.",
)
@click.option("--no-open", "is_quiet", is_flag=True, help="Do not open the browser.")
@click.option(
    "--no-watch",
    "is_still",
    is_flag=True,
    help="Do not collect what agents write while the page is served.",
)
@click.option("--mcp", is_flag=True, help="Also answer MCP clients over HTTP, at /mcp.")
@click.pass_obj
def command(settings: Settings, port: int, is_quiet: bool, is_still: bool, mcp: bool) -> None:
    from session_memory.core.garbage import collector_off

    # While modules are loaded, the garbage collector finds nothing, and takes a tenth of the time.
    with collector_off():
        from session_memory.memory import Memory
        from session_memory.web.running import mark_of
        from session_memory.web.security import PARAMETER
        from session_memory.web.serving import WebServer

    config = settings.configuration()
    where = settings.where(config)
    with settings.opened(config, create=True) as store:
        mark, others = mark_of(store), running_server(store)
    # A service may serve the page already. With --port the user wants a second server.
    if others is not None and not port and others.answers():
        _show(settings, others.address_of(f"/?{PARAMETER}={others.token}"), others.port, is_quiet)
        second = " For a second one with these options, give --port." if mcp or is_still else ""
        remark(settings, f"The server runs already.{second}")
        return
    server = WebServer(
        lambda: Memory(where, settings.config, create=False),
        port=port,
        place=mark,
        follows=not is_still,
        mcp=_mcp_endpoint(where, settings) if mcp else None,
    )
    remark(settings, "Ctrl-C ends the server.")
    _show(settings, server.address, server.port, is_quiet)
    server.run()


def _show(settings: Settings, address: str, port: int, is_quiet: bool) -> None:
    if settings.as_json:
        print_json({"address": address, "port": port})
        return
    click.echo(address)
    if not is_quiet:
        import webbrowser

        webbrowser.open(address)


def _mcp_endpoint(where: str, settings: Settings) -> "McpEndpoint":
    from session_memory.mcp.asking import AskedMemory
    from session_memory.web.mcp_endpoint import McpEndpoint

    return McpEndpoint(AskedMemory(where, settings.config))
