"""A service in Python, on the official KubeMQ client: answers `example-queries` and executes `example-commands`.

kubemq-mcp serve
pip install kubemq
python examples/responder.py              # or: python examples/responder.py HOST:PORT

Without a group every copy of this program gets every request. In one group they share them.
"""

import asyncio
import json
import sys

from kubemq import (
    AsyncCQClient,
    CommandReceived,
    CommandResponse,
    CommandsSubscription,
    QueriesSubscription,
    QueryReceived,
    QueryResponse,
)

GROUP = "example-responders"
AT_ONCE = 100


async def main(broker: str) -> None:
    async with AsyncCQClient(address=broker, client_id="example-responder") as client:

        async def answer(query: QueryReceived) -> None:
            body = json.dumps({"data": f"answer to {query.body.decode()}"}, separators=(",", ":"))
            reply = QueryResponse(query_received=query, is_executed=True, body=body.encode())
            await client.send_response(reply)

        async def execute(command: CommandReceived) -> None:
            # The work goes here. A reply with an error rejects the command, and the agent reads that text.
            reason = "" if command.body else "nothing to do"
            reply = CommandResponse(command_received=command, is_executed=not reason, error=reason)
            await client.send_response(reply)

        queries = QueriesSubscription(
            channel="example-queries", group=GROUP, on_receive_query_callback=answer
        )
        commands = CommandsSubscription(
            channel="example-commands", group=GROUP, on_receive_command_callback=execute
        )
        await asyncio.gather(
            client.subscribe_queries_with_callback(queries, answer, max_concurrent_callbacks=AT_ONCE),
            client.subscribe_commands_with_callback(commands, execute, max_concurrent_callbacks=AT_ONCE),
        )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50000"))
