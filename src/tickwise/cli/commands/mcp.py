"""`tickwise mcp`: a door for agents, over stdin and stdout."""

from ...core.errors import InputError
from ..client import ApiClient
from ..command import CommandResult, api_command


@api_command
async def mcp(api: ApiClient) -> CommandResult | None:
    """Serve tools to an agent by the Model Context Protocol; what it changes, it proposes."""
    try:
        from ..mcp_server import mcp_server  # noqa: PLC0415  (an extra)
    except ImportError:
        raise InputError("the package mcp is missing: pip install 'tickwise[mcp]'") from None
    await mcp_server(api).run_stdio_async()
    return None
