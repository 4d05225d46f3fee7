// The official npm client, version 2, driven by lines of JSON (see harness/agent.py).

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { drive } from './lines.mjs';

async function connect(order) {
    const mode = ['auto', 'legacy'].includes(order.mode) ? order.mode : { pin: order.mode };
    const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
    const [command, ...args] = order.command;
    const transport = order.url
        ? new StreamableHTTPClientTransport(new URL(order.url))
        : new StdioClientTransport({ command, args });
    await client.connect(transport);
    const { name, version } = client.getServerVersion();
    return [client, { name, version, protocol: client.getNegotiatedProtocolVersion() }];
}

await drive(connect, (client, params, options) => client.callTool(params, options));
