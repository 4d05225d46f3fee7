"""Every agent against every responder, over HTTP."""

import asyncio
import time

from harness import agent
from harness.agent import Agent
from harness.connector import Connector
from harness.responder import Responder
from harness.tally import Tally

from . import judge

KINDS = [
    agent.PYTHON_AUTO,
    agent.PYTHON_LEGACY,
    agent.NPM_V1,
    agent.NPM_V2_AUTO,
    agent.NPM_V2_LEGACY,
    agent.NPM_V2_PINNED,
]


async def run(tally: Tally, running: Connector, responders: list[Responder]) -> None:
    """Runs the stage against a connector whose responders answer."""
    for kind in KINDS:
        async with agent.started(kind) as client:
            where = f"{kind.name}, http"
            about = None
            with tally.check(f"{where}: it connects and finds `kubemq`"):
                about = await client.connect(url=running.url)
                judge.server(about, kind)
            if about is None:
                continue
            await checks(tally, client, where, running, responders)
            with tally.check(f"{where}: leaving in the middle of a query cancels it"):
                await leaves(client, running)


async def checks(
    tally: Tally, client: Agent, where: str, running: Connector, responders: list[Responder]
) -> None:
    """What holds for an agent whatever it is connected over. The checks that wait do so side by side."""
    listed = running.post("tools/list", {})["result"]["tools"]
    with tally.check(f"{where}: tools/list has the order and the schemas"):
        judge.tools(await client.tools(), listed)
    waits = [judge.one_responder(tally, client, f"{where}, {one.name}", one) for one in responders]
    await asyncio.gather(*waits, judge.refusals(tally, client, where))


async def leaves(client: Agent, running: Connector) -> None:
    """Closes the client while a query waits, and sees that the connector gives the query up."""
    cancelled = {"tool": "query_send", "cause": "cancelled"}
    before = running.metric("kubemq_mcp_calls_total", **cancelled)
    begun = time.monotonic()
    await client.leave(
        "query_send", {"channel": "interop.nobody", "body": "wait", "timeout_seconds": 30}, 0.5
    )
    while running.metric("kubemq_mcp_calls_total", **cancelled) == before:
        if time.monotonic() - begun > 10:
            raise TimeoutError("the query was not cancelled within 10 s of a timeout of 30 s")
        await asyncio.sleep(0.05)
    pending = running.metric("kubemq_mcp_requests_pending")
    if pending != 0:
        raise AssertionError(f"{pending} requests are still pending")
