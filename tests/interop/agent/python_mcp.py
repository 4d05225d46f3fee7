"""The official Python client, driven by lines of JSON (see harness/agent.py)."""

import asyncio
import json
import sys
import time
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError


class Driver:
    """Holds one client between the lines."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.closing = asyncio.Event()
        self.closed = asyncio.Event()
        self.holder: asyncio.Task[None] | None = None

    async def do(self, order: dict[str, Any]) -> dict[str, Any]:
        match order["do"]:
            case "connect":
                return await self.connect(order)
            case "list":
                listed = await self.client.list_tools()
                return {"tools": [dumped(tool) for tool in listed.tools]}
            case "call":
                return await self.call(order)
            case "leave":
                return await self.leave(order)
        raise ValueError(order["do"])

    async def connect(self, order: dict[str, Any]) -> dict[str, Any]:
        command = order["command"]
        server = order["url"] or StdioServerParameters(command=command[0], args=command[1:])
        ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.holder = asyncio.create_task(self.hold(Client(server, mode=order["mode"]), ready))
        return await ready

    async def hold(self, client: Client, ready: asyncio.Future[dict[str, Any]]) -> None:
        """The client must be closed by the task that opened it."""
        try:
            async with client:
                self.client = client
                info = client.server_info
                ready.set_result(
                    {"name": info.name, "version": info.version, "protocol": client.protocol_version}
                )
                await self.closing.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
        finally:
            self.closed.set()

    async def call(self, order: dict[str, Any]) -> dict[str, Any]:
        progress: list[dict[str, Any]] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            progress.append({"progress": done, "total": total, "message": message})

        begun = time.monotonic()
        result = await self.client.call_tool(
            order["name"], order["arguments"], progress_callback=note if order.get("progress") else None
        )
        return {"result": dumped(result), "progress": progress, "seconds": time.monotonic() - begun}

    async def leave(self, order: dict[str, Any]) -> dict[str, Any]:
        call = asyncio.create_task(self.call(order))
        await asyncio.sleep(order["after_seconds"])
        self.closing.set()
        await self.closed.wait()
        await asyncio.gather(call, return_exceptions=True)
        return {}


def dumped(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answered(driver: Driver, order: dict[str, Any]) -> None:
    try:
        answer: dict[str, Any] = {"ok": await driver.do(order)}
    except MCPError as error:
        answer = {"error": {"code": error.code, "message": error.message}}
    except Exception as error:  # Whatever it is, the harness judges it.
        answer = {"error": {"code": None, "message": repr(error)}}
    print(json.dumps({"id": order["id"], **answer}), flush=True)


async def main() -> None:
    driver = Driver()
    running: set[asyncio.Task[None]] = set()
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(answered(driver, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    driver.closing.set()
    if driver.holder is not None:
        await driver.holder


if __name__ == "__main__":
    asyncio.run(main())
