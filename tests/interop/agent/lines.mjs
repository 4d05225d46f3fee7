// Lines of JSON in, lines of JSON out (see harness/agent.py); what both npm clients share.

import { createInterface } from 'node:readline';

/**
 * Orders run side by side, so that a slow call keeps no other waiting. `connect` gives the client and what it found;
 * `callTool` hides that the two versions of the SDK take their options in different places.
 */
export async function drive(connect, callTool) {
    let client;

    async function call(order) {
        const progress = [];
        const options = order.progress ? { onprogress: (told) => progress.push(told) } : {};
        const begun = performance.now();
        const result = await callTool(client, { name: order.name, arguments: order.arguments }, options);
        return { result, progress, seconds: (performance.now() - begun) / 1000 };
    }

    async function act(order) {
        switch (order.do) {
            case 'connect': {
                let about;
                [client, about] = await connect(order);
                return about;
            }
            case 'list':
                return { tools: (await client.listTools()).tools };
            case 'call':
                return await call(order);
            case 'leave': {
                const left = call(order).catch(() => undefined);
                await new Promise((resolve) => setTimeout(resolve, order.after_seconds * 1000));
                await client.close();
                await left;
                return {};
            }
        }
        throw new Error(order.do);
    }

    const running = new Set();
    for await (const line of createInterface({ input: process.stdin })) {
        const order = JSON.parse(line);
        const answered = act(order)
            .then((ok) => ({ ok }))
            .catch((error) => ({ error: { code: error.code ?? null, message: String(error.message) } }))
            .then((answer) => process.stdout.write(JSON.stringify({ id: order.id, ...answer }) + '\n'))
            .finally(() => running.delete(answered));
        running.add(answered);
    }
    await client?.close();
    process.exit(0);
}
