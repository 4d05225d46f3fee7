"""Starts programs and ends them again, each by its own pid."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

READY_SECONDS = 60
END_SECONDS = 15

# An answer of an agent is one line; a schema or a large body makes it a long one.
LINE_BYTES_MAX = 16 * 1024 * 1024


@asynccontextmanager
async def running(
    command: Sequence[str | Path],
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> AsyncIterator[Process]:
    """Runs a program for as long as the block lasts. Its standard error goes to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(str(part) for part in command),
            stdin=PIPE,
            stdout=PIPE,
            stderr=errors,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            limit=LINE_BYTES_MAX,
        )
    try:
        yield process
    finally:
        await end(process)


async def end(process: Process) -> None:
    """Asks it to end, and kills it when it does not."""
    if process.stdin is not None:
        process.stdin.close()
    for ask in (process.terminate, process.kill):
        if process.returncode is not None:
            return
        ask()
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            continue


async def line_with(process: Process, text: str) -> str:
    """Waits for the first line of standard output that contains `text`."""
    assert process.stdout is not None
    seen: list[str] = []
    try:
        async with asyncio.timeout(READY_SECONDS):
            while line := await process.stdout.readline():
                seen.append(line.decode(errors="replace").rstrip())
                if text in seen[-1]:
                    return seen[-1]
    except TimeoutError:
        pass
    raise RuntimeError(f"no line with {text!r} came; what came: {seen}")


async def output_of(
    command: Sequence[str | Path],
    seconds: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[int, str]:
    """Runs a program to its end; gives its exit status and what it printed, standard error included."""
    process = await asyncio.create_subprocess_exec(
        *(str(part) for part in command),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        await end(process)
        return 124, f"it did not end within {seconds} s"
    return process.returncode or 0, printed.decode(errors="replace")
