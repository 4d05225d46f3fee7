"""Responders in several languages, each answering on channels of its own.

A responder with the prefix `p` answers the queries on `p.echo` (at once) and `p.slow` (after three seconds) with
what they brought and those on `p.binary` with `BINARY`, executes the commands on `p.do` and rejects those on
`p.reject` with `REASON`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from . import install, process
from .connector import LOGS, Connector

BINARY = b"\xff\x00\x80"
REASON = "ausverkauft, 缺货"
SLOW_SECONDS = 3

Command = list[str | Path]


@dataclass(frozen=True)
class Responder:
    """A running responder, as the checks need to know it."""

    name: str
    prefix: str
    client_id: str


def _python(connector: Connector, prefix: str) -> list[Command]:
    return [[install.python(), install.INTEROP / "responder" / "python_kubemq.py", connector.broker, prefix]]


def _npm(connector: Connector, prefix: str) -> list[Command]:
    script = install.script(install.INTEROP / "responder" / "npm_kubemq.mjs")
    return [[install.node(), script, connector.broker, prefix]]


def _own(connector: Connector, prefix: str) -> list[Command]:
    ways = {
        "echo": ["--kind", "query", "--echo"],
        "slow": ["--kind", "query", "--echo", "--delay", f"{SLOW_SECONDS}s"],
        "binary": ["--kind", "query", "--exec", r"printf '\377\000\200'"],
        "do": ["--kind", "command", "--echo"],
        "reject": ["--kind", "command", "--reject", REASON],
    }
    base = [connector.binary, "respond", "--broker", connector.broker]
    return [[*base, f"{prefix}.{name}", *way] for name, way in ways.items()]


_RESPONDERS: list[tuple[Responder, Callable[[Connector, str], list[Command]]]] = [
    (Responder("python kubemq", "interop.python", "python-kubemq"), _python),
    (Responder("npm kubemq-js", "interop.npm", "npm-kubemq"), _npm),
    (Responder("kubemq-mcp respond", "interop.own", "kubemq-mcp-respond"), _own),
]


@asynccontextmanager
async def all_running(connector: Connector) -> AsyncIterator[list[Responder]]:
    """Runs one responder of each language and waits until all of them answer."""
    async with AsyncExitStack() as stack:
        for responder, commands in _RESPONDERS:
            for number, command in enumerate(commands(connector, responder.prefix)):
                log = LOGS / f"responder-{responder.prefix}-{number}.log"
                await stack.enter_async_context(process.running(command, log, cwd=install.NPM))
        responders = [responder for responder, _ in _RESPONDERS]
        channels = [("query_send", "echo"), ("command_send", "do"), ("command_send", "reject")]
        await asyncio.gather(
            *(
                connector.answered(tool, f"{responder.prefix}.{name}")
                for responder in responders
                for tool, name in channels
            )
        )
        yield responders
