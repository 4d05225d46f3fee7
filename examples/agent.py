"""An agent in Python, on the official MCP SDK: asks for data, then causes an effect.

kubemq-mcp serve --demo
pip install mcp
python examples/agent.py                  # or: python examples/agent.py http://HOST:PORT/mcp
"""

import asyncio
import sys

from mcp import Client
from mcp.types import CallToolResult


async def main(url: str) -> None:
    async with Client(url) as client:
        query = {
            "channel": "example-queries",
            "body": "get-data",
            "timeout_seconds": 30,
            "metadata": "qry-meta",
            "tags": {"action": "lookup"},
        }
        tell("query_send", await client.call_tool("query_send", query))

        command = {
            "channel": "example-commands",
            "body": "do-work",
            "timeout_seconds": 10,
            "metadata": "cmd-meta",
            "tags": {"action": "process"},
        }
        tell("command_send", await client.call_tool("command_send", command))


def tell(tool: str, result: CallToolResult) -> None:
    # A failure comes as a result too: its first text says what happened.
    failed = " failed" if result.is_error else ""
    print(f"{tool}{failed}: {result.content[0].text}")
    # A command also says what became of its effect. After `unknown`, look before you send it again.
    if result.structured_content:
        print(f"outcome: {result.structured_content['outcome']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:9090/mcp"))
