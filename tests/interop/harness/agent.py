"""An MCP client in a process of its own, in whatever language, told what to do in lines of JSON.

Every client program under `agent/` reads `{"id": 1, "do": "call", ...}` and answers `{"id": 1, "ok": ...}` or
`{"id": 1, "error": {"code": ..., "message": ...}}`. It only drives its SDK; what is right is decided here, once for all.
"""

import asyncio
import itertools
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import install, process
from .connector import LOGS

ANSWER_SECONDS = 60


@dataclass(frozen=True)
class Kind:
    """A client program and the mode it runs in."""

    name: str
    program: Path
    mode: str
    version: str

    def command(self) -> list[str | Path]:
        """How the program is started."""
        if self.program.suffix == ".py":
            return [install.python(), self.program]
        install.script(self.program.with_name("lines.mjs"))
        return [install.node(), install.script(self.program)]


_AGENTS = install.INTEROP / "agent"

PYTHON_AUTO = Kind("python mcp, automatic", _AGENTS / "python_mcp.py", "auto", "2026-07-28")
PYTHON_LEGACY = Kind("python mcp, legacy", _AGENTS / "python_mcp.py", "legacy", "2025-11-25")
NPM_V1 = Kind("npm sdk v1", _AGENTS / "npm_sdk_v1.mjs", "legacy", "2025-11-25")
NPM_V2_AUTO = Kind("npm client v2, auto", _AGENTS / "npm_client_v2.mjs", "auto", "2026-07-28")
NPM_V2_LEGACY = Kind("npm client v2, legacy", _AGENTS / "npm_client_v2.mjs", "legacy", "2025-11-25")
NPM_V2_PINNED = Kind("npm client v2, pinned", _AGENTS / "npm_client_v2.mjs", "2026-07-28", "2026-07-28")


class Refused(Exception):
    """The SDK raised an exception instead of returning a result."""

    def __init__(self, code: int | None, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass
class Answer:
    """What a call came to."""

    result: dict[str, Any]
    progress: list[dict[str, Any]]
    seconds: float

    @property
    def text(self) -> str:
        """The first text."""
        return self.result["content"][0].get("text", "")

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
        return bool(self.result.get("isError"))


class Agent:
    """A started client program."""

    def __init__(self, kind: Kind, started: Process) -> None:
        self.kind = kind
        self._process = started
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read())

    async def connect(self, url: str | None = None, command: Sequence[str] = ()) -> dict[str, Any]:
        """Connects over HTTP, or to a command over its standard input and output."""
        return await self._do("connect", url=url, command=list(command), mode=self.kind.mode)

    async def tools(self) -> list[dict[str, Any]]:
        """The list of tools, as the SDK gives it."""
        return (await self._do("list"))["tools"]

    async def call(self, name: str, arguments: dict[str, Any], progress: bool = False) -> Answer:
        """Calls a tool; raises `Refused` when the SDK raises."""
        answer = await self._do("call", name=name, arguments=arguments, progress=progress)
        return Answer(answer["result"], answer["progress"], answer["seconds"])

    async def leave(self, name: str, arguments: dict[str, Any], after_seconds: float) -> None:
        """Starts a call and closes the client while it waits."""
        await self._do("leave", name=name, arguments=arguments, after_seconds=after_seconds)

    async def _do(self, what: str, **more: Any) -> Any:
        number = next(self._ids)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": number, "do": what, **more}).encode() + b"\n")
        await self._process.stdin.drain()
        return await asyncio.wait_for(future, ANSWER_SECONDS)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            future = self._waiting.pop(answer["id"])
            if "ok" in answer:
                future.set_result(answer["ok"])
            else:
                future.set_exception(Refused(answer["error"]["code"], answer["error"]["message"]))
        for future in self._waiting.values():
            future.set_exception(RuntimeError(f"the client ended, see {LOGS.name}/ in target/interop"))


@asynccontextmanager
async def started(kind: Kind) -> AsyncIterator[Agent]:
    """Runs a client program for as long as the block lasts."""
    log = LOGS / f"{kind.name.replace(' ', '-').replace(',', '')}.log"
    async with process.running(kind.command(), log, cwd=install.NPM) as running:
        yield Agent(kind, running)
