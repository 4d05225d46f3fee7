"""What is right, whoever asks: decided once for every agent, transport and responder."""

import asyncio
import base64
from typing import Any

import jsonschema

from harness.agent import Agent, Answer, Kind, Refused
from harness.responder import BINARY, REASON, SLOW_SECONDS, Responder
from harness.tally import Failed, Tally, expect, expect_equal

# The published order. A connector may have fewer tools, never others and never in another order.
ORDER = [
    "query_send",
    "channel_list",
    "channel_info",
    "queue_peek",
    "events_store_read",
    "events_store_read_latest",
    "command_status",
    "command_send",
    "queue_send",
    "queue_receive",
    "events_publish",
    "events_store_publish",
]

# Beyond ASCII, beyond the basic plane, with what line-based transports and escaping stumble over.
BODY = ' Grüße, 世界 🚀 e\u0301 \u2028\u2029\u0085\ufeff "\\"\r\n\t\u0000\u001f{"a":[1.0,1e2]} '

# The member of a query's `_meta` that is ours.
QUERY_META = "dev.kubemq-mcp/query"

# How much later than its timeout an answer may come on a busy machine.
LATE_SECONDS = 3.0


def server(about: dict[str, Any], kind: Kind) -> None:
    """The server names itself, and the version is the one this client should agree on."""
    expect_equal(about["name"], "kubemq", "serverInfo.name")
    # Version 1 of the npm client does not tell over stdio.
    if about["protocol"] is not None:
        expect_equal(about["protocol"], kind.version, "the protocol version")


def tools(seen: list[dict[str, Any]], listed: list[dict[str, Any]]) -> None:
    """The client shows what a plain request shows, in the published order, with schemas that are valid."""
    names = [tool["name"] for tool in seen]
    expect_equal(names, [name for name in ORDER if name in names], "the order")
    expect({"query_send", "command_send"} <= set(names), f"a tool is missing: {names}")
    expect_equal(names, [tool["name"] for tool in listed], "the names")
    for tool, plain in zip(seen, listed, strict=True):
        for part in ("description", "inputSchema", "outputSchema"):
            expect_equal(tool.get(part), plain.get(part), f"{part} of {tool['name']}")
        for schema in filter(None, (tool["inputSchema"], tool.get("outputSchema"))):
            jsonschema.Draft202012Validator.check_schema(schema)
            expect(schema["additionalProperties"] is False, f"{tool['name']} takes whatever comes")
    for name in ("query_send", "command_send"):
        schema = next(tool for tool in seen if tool["name"] == name)["inputSchema"]
        expect_equal(schema["required"], ["channel", "body"], f"what {name} requires")


async def one_responder(tally: Tally, client: Agent, where: str, responder: Responder) -> None:
    """What an agent gets from one responder."""
    prefix = responder.prefix
    tags = {"action": "prüfen"}
    with tally.check(f"{where}: a query is answered byte for byte"):
        arguments = {
            "channel": f"{prefix}.echo",
            "body": BODY,
            "metadata": "m-é",
            "tags": tags,
            "timeout_seconds": 20,
        }
        answer = await client.call("query_send", arguments)
        expect(not answer.is_error, answer.text)
        expect_equal(answer.text, BODY, "the body")
        meta = answer.result["_meta"][QUERY_META]
        expect_equal(meta["metadata"], "m-é", "the metadata of the reply")
        expect(meta["responder"].startswith(responder.client_id), f"the responder is {meta['responder']}")
    with tally.check(f"{where}: an answer that is no text comes as a resource"):
        answer = await client.call(
            "query_send", {"channel": f"{prefix}.binary", "body": "b", "timeout_seconds": 20}
        )
        expect(not answer.is_error, answer.text)
        expect_equal(base64.b64decode(answer.result["content"][0]["resource"]["blob"]), BINARY, "the bytes")
    with tally.check(f"{where}: a command is executed"):
        answer = await client.call(
            "command_send", {"channel": f"{prefix}.do", "body": BODY, "timeout_seconds": 20}
        )
        expect_equal(answer.text, f"Command executed successfully on channel '{prefix}.do'", "the text")
        await ended(client, answer, "executed", executed=True)
    with tally.check(f"{where}: a rejected command carries the responder's reason"):
        arguments = {"channel": f"{prefix}.reject", "body": "b", "timeout_seconds": 20}
        answer = await client.call("command_send", arguments)
        expect_equal(answer.text, f"Command rejected on channel '{prefix}.reject': {REASON}", "the text")
        await ended(client, answer, "rejected", executed=False)
    with tally.check(f"{where}: progress is told during a query of {SLOW_SECONDS} s"):
        arguments = {"channel": f"{prefix}.slow", "body": BODY, "timeout_seconds": 20}
        answer = await client.call("query_send", arguments, progress=True)
        expect_equal(answer.text, BODY, "the body")
        told = [step["progress"] for step in answer.progress]
        expect(len(told) >= 2 and told == sorted(set(told)), f"the progress is {told}")
        expect(all(step["total"] == 20 for step in answer.progress), "the total is not the timeout")
        expect(f"{prefix}.slow" in answer.progress[0]["message"], f"the message is {answer.progress[0]}")


async def refusals(tally: Tally, client: Agent, where: str) -> None:
    """What an agent is told when there is nothing to be had."""

    async def timeout(tool: str, word: str) -> None:
        with tally.check(f"{where}: {tool} times out when its time is over, not before"):
            answer = await client.call(tool, {"channel": "interop.nobody", "body": "b", "timeout_seconds": 2})
            wanted = f"{word} timed out: no subscriber on channel 'interop.nobody' within 2s"
            expect_equal((answer.text, answer.is_error), (wanted, True), "the text")
            expect(2 <= answer.seconds < 2 + LATE_SECONDS, f"it took {answer.seconds} s")
            if tool == "command_send":
                await ended(client, answer, "unknown", executed=None)

    await asyncio.gather(timeout("query_send", "Query"), timeout("command_send", "Command"))
    with tally.check(f"{where}: a reserved channel is refused"):
        answer = await client.call("command_send", {"channel": "_AGENTS_.x", "body": "b"})
        expect_equal(answer.text, "Channel '_AGENTS_.x' uses a reserved prefix", "the text")
        await ended(client, answer, "not_sent", executed=False)
    with tally.check(f"{where}: a wrong argument is a result that names it"):
        answer = await client.call("command_send", {"chanel": "c", "body": "b"})
        expect("unknown argument `chanel`, did you mean `channel`?" in answer.text, answer.text)
        await ended(client, answer, "not_sent", executed=False)
    with tally.check(f"{where}: an unknown tool is an exception with -32602"):
        try:
            answer = await client.call("no_such_tool", {})
        except Refused as refused:
            expect_equal(refused.code, -32602, "the code")
            expect("no_such_tool" in refused.message, refused.message)
        else:
            raise Failed(f"it returned {answer.result}")


async def ended(client: Agent, answer: Answer, outcome: str, executed: bool | None) -> None:
    """The structured content says how it ended, and fits the schema that the tool published."""
    structured = answer.result["structuredContent"]
    listed = await client.tools()
    schema = next(tool for tool in listed if tool["name"] == "command_send")["outputSchema"]
    jsonschema.Draft202012Validator(schema).validate(structured)
    expect_equal((structured["outcome"], structured["executed"]), (outcome, executed), "the outcome")
    expect_equal(answer.is_error, outcome != "executed", "isError")
