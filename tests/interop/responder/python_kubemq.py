"""A responder on the official Python client of KubeMQ: python_kubemq.py BROKER PREFIX."""

import asyncio
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

AT_ONCE = 100


async def main(broker: str, prefix: str) -> None:
    async with AsyncCQClient(address=broker, client_id="python-kubemq") as client:

        async def echo(query: QueryReceived, after_seconds: float = 0) -> None:
            await asyncio.sleep(after_seconds)
            answer = QueryResponse(
                query_received=query,
                is_executed=True,
                body=query.body,
                metadata=query.metadata,
                tags=query.tags,
            )
            await client.send_response(answer)

        async def slow(query: QueryReceived) -> None:
            await echo(query, after_seconds=3)

        async def binary(query: QueryReceived) -> None:
            answer = QueryResponse(query_received=query, is_executed=True, body=b"\xff\x00\x80")
            await client.send_response(answer)

        async def do(command: CommandReceived) -> None:
            await client.send_response(CommandResponse(command_received=command, is_executed=True))

        async def reject(command: CommandReceived) -> None:
            answer = CommandResponse(command_received=command, is_executed=False, error="ausverkauft, 缺货")
            await client.send_response(answer)

        queries = {"echo": echo, "slow": slow, "binary": binary}
        commands = {"do": do, "reject": reject}
        async with asyncio.TaskGroup() as tasks:
            for name, answer in queries.items():
                query = QueriesSubscription(channel=f"{prefix}.{name}", on_receive_query_callback=answer)
                work = client.subscribe_queries_with_callback(query, answer, max_concurrent_callbacks=AT_ONCE)
                tasks.create_task(work)
            for name, answer in commands.items():
                command = CommandsSubscription(channel=f"{prefix}.{name}", on_receive_command_callback=answer)
                work = client.subscribe_commands_with_callback(
                    command, answer, max_concurrent_callbacks=AT_ONCE
                )
                tasks.create_task(work)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
