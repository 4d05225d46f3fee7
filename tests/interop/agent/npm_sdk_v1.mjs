// The official npm client, version 1, driven by lines of JSON (see harness/agent.py).

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { drive } from './lines.mjs';

async function connect(order) {
    const client = new Client({ name: 'interop', version: '1.0.0' });
    const [command, ...args] = order.command;
    const transport = order.url
        ? new StreamableHTTPClientTransport(new URL(order.url))
        : new StdioClientTransport({ command, args });
    await client.connect(transport);
    const { name, version } = client.getServerVersion();
    return [client, { name, version, protocol: transport.protocolVersion ?? null }];
}

await drive(connect, (client, params, options) => client.callTool(params, undefined, options));
