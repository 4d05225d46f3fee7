// An agent in TypeScript, on the official MCP SDK: asks for data, then causes an effect.
//
// kubemq-mcp serve --demo
// npm install @modelcontextprotocol/client
// node examples/agent.ts                    # Node 22.18 or newer; or: node examples/agent.ts http://HOST:PORT/mcp

import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const url = process.argv[2] ?? 'http://127.0.0.1:9090/mcp';
const client = new Client({ name: 'example-agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const query = await client.callTool({
    name: 'query_send',
    arguments: {
        channel: 'example-queries',
        body: 'get-data',
        timeout_seconds: 30,
        metadata: 'qry-meta',
        tags: { action: 'lookup' },
    },
});
tell('query_send', query);

const command = await client.callTool({
    name: 'command_send',
    arguments: {
        channel: 'example-commands',
        body: 'do-work',
        timeout_seconds: 10,
        metadata: 'cmd-meta',
        tags: { action: 'process' },
    },
});
tell('command_send', command);

await client.close();

function tell(tool: string, result: CallToolResult): void {
    // A failure comes as a result too: its first text says what happened.
    const [block] = result.content;
    const text = block?.type === 'text' ? block.text : '';
    console.log(`${tool}${result.isError ? ' failed' : ''}: ${text}`);
    // A command also says what became of its effect. After `unknown`, look before you send it again.
    const structured = result.structuredContent as { outcome: string } | undefined;
    if (structured) console.log(`outcome: ${structured.outcome}`);
}
