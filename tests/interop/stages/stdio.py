"""Agents that start the connector: alone with its demo responders, and in front of one that runs."""

import asyncio
import tempfile
import time
from pathlib import Path

from harness import agent, install
from harness.agent import Agent
from harness.connector import Connector
from harness.responder import Responder
from harness.tally import Tally, expect, expect_equal

from . import agents, judge

KINDS = [agent.PYTHON_AUTO, agent.PYTHON_LEGACY, agent.NPM_V1, agent.NPM_V2_AUTO]

# Runs a command and leaves a note of its exit status. A client that has to kill what it started kills this
# shell, and then there is no note: so the note proves that the connector ended by itself when its input did.
# It runs in a folder of its own, where nothing is configured and no keys of another run are.
NOTED = 'cd "$1"; shift; "$@"; echo $? > status'


async def run(tally: Tally, running: Connector, responders: list[Responder]) -> None:
    """Runs the stage."""
    for kind in KINDS:
        async with agent.started(kind) as client:
            where = f"{kind.name}, stdio --demo"
            note = await connected(tally, client, where, running.binary, "--demo")
            if note is None:
                continue
            await asyncio.gather(demo(tally, client, where), judge.refusals(tally, client, where))
            with tally.check(f"{where}: it ends by itself when its client leaves in the middle of a query"):
                await client.leave("query_send", WAITING, 0.5)
                await ended(note)
        async with agent.started(kind) as client:
            where = f"{kind.name}, stdio --connect"
            note = await connected(tally, client, where, running.binary, "--connect", running.url)
            if note is None:
                continue
            await agents.checks(tally, client, where, running, responders)
            with tally.check(f"{where}: leaving in the middle of a query cancels it"):
                await agents.leaves(client, running)
                await ended(note)


WAITING = {"channel": "interop.nobody", "body": "wait", "timeout_seconds": 30}


async def connected(tally: Tally, client: Agent, where: str, binary: Path, *flags: str) -> Path | None:
    """Connects over standard input and output; gives where the exit status will be noted."""
    folder = Path(tempfile.mkdtemp(dir=install.TARGET))
    note = folder / "status"
    command = ["sh", "-c", NOTED, "sh", str(folder), str(binary), "stdio", "--log-level", "warn", *flags]
    with tally.check(f"{where}: it connects and finds `kubemq`"):
        judge.server(await client.connect(command=command), client.kind)
        return note
    return None


async def demo(tally: Tally, client: Agent, where: str) -> None:
    """The two published examples, which the demo responders answer."""
    with tally.check(f"{where}: the published query is answered"):
        answer = await client.call("query_send", {"channel": "example-queries", "body": "get-data"})
        expect_equal(answer.text, '{"data":"query response payload from subscriber"}', "the text")
    with tally.check(f"{where}: the published command is executed"):
        answer = await client.call("command_send", {"channel": "example-commands", "body": "do-work"})
        expect_equal(answer.text, "Command executed successfully on channel 'example-commands'", "the text")
        await judge.ended(client, answer, "executed", executed=True)
    with tally.check(f"{where}: progress is told"):
        answer = await client.call("query_send", {**WAITING, "timeout_seconds": 3}, progress=True)
        told = [step["progress"] for step in answer.progress]
        expect(len(told) >= 2 and told == sorted(set(told)), f"the progress is {told}")


async def ended(note: Path) -> None:
    """Waits until the connector has ended by itself."""
    begun = time.monotonic()
    while not note.is_file() or not note.read_text():
        expect(time.monotonic() - begun < 10, "it was killed, or it still runs")
        await asyncio.sleep(0.05)
    expect_equal(note.read_text().strip(), "0", "the exit status")
