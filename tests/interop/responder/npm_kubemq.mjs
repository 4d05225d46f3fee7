// A responder on the official JavaScript client of KubeMQ: npm_kubemq.mjs BROKER PREFIX.

import kubemq from 'kubemq-js';

const [address, prefix] = process.argv.slice(2);
const config = { address, clientId: 'npm-kubemq', reconnectInterval: 1000 };
const queries = new kubemq.QueriesClient(config);
const commands = new kubemq.CommandsClient(config);

function answer(client, request, more) {
    const { id, replyChannel } = request;
    const reply = { id, replyChannel, clientId: config.clientId, executed: true, error: '', ...more };
    return client.response({ ...reply, timestamp: Date.now() });
}

async function subscribe(client, name, answered) {
    await client.subscribe({ channel: `${prefix}.${name}`, clientId: config.clientId }, (error, request) => {
        if (error) console.error(name, error);
        else answered(request);
    });
}

// Without the tags: version 1.2.3 of the client writes those of a reply wrongly.
const echo = (request) => answer(queries, request, { body: request.body, metadata: request.metadata });

await subscribe(queries, 'echo', echo);
await subscribe(queries, 'slow', (request) => setTimeout(() => echo(request), 3000));
await subscribe(queries, 'binary', (request) => answer(queries, request, { body: Buffer.from([0xff, 0x00, 0x80]) }));
await subscribe(commands, 'do', (request) => answer(commands, request, {}));
await subscribe(commands, 'reject', (request) =>
    answer(commands, request, { executed: false, error: 'ausverkauft, 缺货' }),
);
