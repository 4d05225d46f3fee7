"""The examples: every agent against the demo responders and against every example of a responder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness import connector, install, process
from harness.connector import LOGS, Connector
from harness.tally import Tally, expect_equal

EXAMPLES = install.ROOT / "examples"
AGENT_SECONDS = 60

DEMO_ANSWER = '{"data":"query response payload from subscriber"}'
EXAMPLE_ANSWER = '{"data":"answer to get-data"}'

Command = list[str | Path]


async def run(tally: Tally, binary: Path) -> None:
    """Runs the stage."""
    built = await connector.rust_examples()
    agents: dict[str, Command] = {
        "agent.rs": [built / "agent"],
        "agent.py": [install.python(), EXAMPLES / "agent.py"],
        "agent.ts": [install.node(), install.script(EXAMPLES / "agent.ts")],
    }
    async with connector.serving(binary, "--demo") as running:
        await _agents(tally, running, agents, "serve --demo", DEMO_ANSWER)
    async with connector.serving(binary) as running:
        host, port = running.broker.split(":")
        responders: dict[str, Command] = {
            "responder.rs": [built / "responder", host, port],
            "responder.py": [install.python(), EXAMPLES / "responder.py", running.broker],
        }
        for name, command in responders.items():
            async with _answering(running, name, command):
                await _agents(tally, running, agents, name, EXAMPLE_ANSWER)
                with tally.check(f"examples: {name} rejects a command without a body"):
                    result = await running.call(
                        "command_send", channel="example-commands", body="", metadata="m"
                    )
                    wanted = "Command rejected on channel 'example-commands': nothing to do"
                    expect_equal(result["content"][0]["text"], wanted, "the text")


@asynccontextmanager
async def _answering(running: Connector, name: str, command: Command) -> AsyncIterator[None]:
    async with process.running(command, LOGS / f"example-{name}.log"):
        await running.answered("query_send", "example-queries")
        await running.answered("command_send", "example-commands")
        yield


async def _agents(
    tally: Tally, running: Connector, agents: dict[str, Command], responder: str, answer: str
) -> None:
    wanted = [
        f"query_send: {answer}",
        "command_send: Command executed successfully on channel 'example-commands'",
        "outcome: executed",
    ]
    for name, command in agents.items():
        with tally.check(f"examples: {name} with {responder}"):
            status, printed = await process.output_of([*command, running.url], AGENT_SECONDS)
            expect_equal((status, printed.splitlines()), (0, wanted), "what it prints")
