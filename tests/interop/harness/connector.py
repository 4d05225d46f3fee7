"""The connector under test: building it, starting it on free ports, and asking it in plain HTTP."""

import asyncio
import json
import re
import shutil
import sys
import urllib.request
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import install, process

LOGS = install.TARGET / "log"
RELEASE_BINARY = install.ROOT / "target" / "release" / "kubemq-mcp"
CONFORMANCE_BINARY = install.TARGET / "kubemq-mcp-conformance"


async def release_binary() -> Path:
    """Builds the binary that is released: the agents meet exactly its tools."""
    await _cargo("build", "--release")
    return RELEASE_BINARY


async def conformance_binary() -> Path:
    """Builds the binary with the fixture tools of the conformance suite, and leaves the released one where it was.

    It shares every dependency with the release build, and is not optimized itself, so that it takes seconds.
    """
    kept = install.TARGET / "kubemq-mcp-kept"
    if RELEASE_BINARY.exists():
        RELEASE_BINARY.rename(kept)
    try:
        plain = "profile.release.package.kubemq-mcp.opt-level=0"
        await _cargo("build", "--release", "--features", "conformance", "--config", plain)
        shutil.copy(RELEASE_BINARY, CONFORMANCE_BINARY)
    finally:
        if kept.exists():
            kept.replace(RELEASE_BINARY)
    return CONFORMANCE_BINARY


async def rust_examples() -> Path:
    """Builds the examples in Rust; gives their folder. Unoptimized, since that is how the tests build them anyway."""
    await _cargo("build", "--examples")
    return install.ROOT / "target" / "debug" / "examples"


async def _cargo(*arguments: str) -> None:
    print(f"cargo {' '.join(arguments)} ...", flush=True)
    started = await asyncio.create_subprocess_exec("cargo", *arguments, "--quiet", cwd=install.ROOT)
    if await started.wait() != 0:
        sys.exit("the connector does not build")


@dataclass(frozen=True)
class Connector:
    """A running connector with an embedded broker."""

    binary: Path
    url: str
    broker: str

    def post(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Sends one JSON-RPC request the way curl does."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Calls a tool and gives its result."""
        answer = await asyncio.to_thread(self.post, "tools/call", {"name": tool, "arguments": arguments})
        return answer["result"]

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's series that carry these labels."""
        with urllib.request.urlopen(self.url.removesuffix("/mcp") + "/metrics", timeout=10) as response:
            lines = response.read().decode().splitlines()
        series = [line for line in lines if line.startswith((name + "{", name + " "))]
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(line.rsplit(" ", 1)[1]) for line in series if all(pair in line for pair in wanted))

    async def answered(self, tool: str, channel: str) -> None:
        """Waits until somebody answers on a channel: a broker does not tell who listens."""
        for _ in range(60):
            result = await self.call(tool, channel=channel, body="are you there?", timeout_seconds=1)
            if "timed out" not in result["content"][0].get("text", ""):
                return
        raise RuntimeError(f"nobody answers on {channel}")


@asynccontextmanager
async def serving(binary: Path, *flags: str) -> AsyncIterator[Connector]:
    """Runs `serve` with an embedded broker, both on free ports."""
    command = [binary, "serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0", *flags]
    log = LOGS / f"{binary.name}.log"
    # In a folder without a config.toml, so that the defaults are what is tested, and without the keys of an earlier run.
    with TemporaryDirectory() as folder:
        async with process.running(command, log, cwd=Path(folder)) as started:
            yield await _found(binary, started)


async def _found(binary: Path, started: Process) -> Connector:
    line = await process.line_with(started, "is ready")
    url = re.search(r"http://\S+/mcp", line)
    broker = re.search(r"(\d+\.\d+\.\d+\.\d+:\d+)\)", line)
    if url is None or broker is None:
        raise RuntimeError(f"the ready line names no URL or no broker: {line}")
    return Connector(binary, url.group(), broker.group(1))
