"""The run: builds, starts, runs the stages in order, and counts."""

import argparse
import asyncio
import time
from pathlib import Path

from harness import connector, install, responder
from harness.tally import Tally
from stages import agents, conformance, examples, stdio

STAGES = ("agents", "stdio", "conformance", "examples")


def main() -> int:
    """Runs what the command line asks for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="tests/interop/run")
    parser.add_argument("--binary", type=Path, help="the connector to test; built when it is not given")
    parser.add_argument("--only", choices=STAGES, help="run this stage alone")
    arguments = parser.parse_args()
    stages = [arguments.only] if arguments.only else list(STAGES)
    install.node_modules()
    tally = Tally()
    asyncio.run(_run(tally, arguments.binary, stages))
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return 1 if tally.failed or not tally.passed else 0


async def _run(tally: Tally, given: Path | None, stages: list[str]) -> None:
    binary = given.resolve() if given else await connector.release_binary()
    fixtures = await connector.conformance_binary() if "conformance" in stages else None
    if {"agents", "stdio"} & set(stages):
        async with connector.serving(binary) as running, responder.all_running(running) as responders:
            for name, stage in (("agents", agents), ("stdio", stdio)):
                if name in stages:
                    with _timed(name):
                        await stage.run(tally, running, responders)
    if fixtures is not None:
        with _timed("conformance"):
            await conformance.run(tally, fixtures)
    if "examples" in stages:
        with _timed("examples"):
            await examples.run(tally, binary)


class _timed:
    """Prints how long a stage took."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> None:
        self._begun = time.monotonic()

    def __exit__(self, *_: object) -> None:
        print(f"-- {self._stage}: {time.monotonic() - self._begun:.0f} s", flush=True)
