// A lenient upstream that somebody else wrote: no sequence numbers, sparse
// response objects, usage of zero, arguments in a few chunks.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import { checkCall, checkEvents } from './support/check.mjs';
import { apiKey, startGateway, toolName } from './support/gateway.mjs';

const base = {
  model: 'gpt-4o',
  tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
  include: ['code_interpreter_call.outputs'],
};
const run = (code) => ({ name: toolName, arguments: JSON.stringify({ code }) });

let mock, gateway, client;

before(async () => {
  mock = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 7, logLevel: 'silent' });
  mock.on({ userMessage: 'one call', hasToolResult: false }, { toolCalls: [run('print(6*7)\n')] });
  mock.on({ userMessage: 'one call', hasToolResult: true }, { content: 'The answer is 42.' });
  mock.on({ userMessage: 'two rounds', turnIndex: 0 }, { toolCalls: [run('x = 20\n')] });
  mock.on({ userMessage: 'two rounds', turnIndex: 1 }, { toolCalls: [run('print(x + 1)\n')] });
  mock.on({ userMessage: 'two rounds', turnIndex: 2 }, { content: 'Twenty-one.' });
  mock.on({ userMessage: 'in parallel', hasToolResult: false }, { toolCalls: [run('y = 5\n'), run('print(y * 2)\n')] });
  mock.on({ userMessage: 'in parallel', hasToolResult: true }, { content: 'Ten.' });
  mock.on({ userMessage: 'an error', hasToolResult: false }, { toolCalls: [run('print(1/0)\n')] });
  mock.on({ userMessage: 'an error', toolResultContains: 'ZeroDivisionError' }, { toolCalls: [run('print(1/2)\n')] });
  mock.on({ userMessage: 'an error', toolResultContains: '0.5' }, { content: 'Half.' });
  mock.on({ userMessage: 'not JSON', hasToolResult: false }, { toolCalls: [{ name: toolName, arguments: 'print("raw")\n' }] });
  mock.on({ userMessage: 'not JSON', hasToolResult: true }, { content: 'Raw.' });
  mock.on({ userMessage: 'think first', hasToolResult: false }, { toolCalls: [run('print(3)\n')], reasoning: 'Three it is.' });
  mock.on({ userMessage: 'think first', hasToolResult: true }, { content: 'Three.' });
  mock.on({ userMessage: 'refuse' }, { error: { message: 'out of order', type: 'server_error' }, status: 503 });
  mock.on({ userMessage: 'hello' }, { content: 'Good day.' });
  gateway = await startGateway(await mock.start());
  client = new OpenAI({ baseURL: gateway.baseURL, apiKey, maxRetries: 0 });
});

after(async () => {
  await gateway?.stop();
  await mock?.stop();
});

const ways = {
  create: (request) => client.responses.create(request),
  'create, streamed': async (request) => {
    const events = [];
    for await (const event of await client.responses.create({ ...request, stream: true })) events.push(event);
    return checkEvents(events);
  },
  'stream helper': (request) => client.responses.stream(request).finalResponse(),
};

for (const [way, send] of Object.entries(ways)) {
  describe(`aimock: ${way}`, () => {
    const types = (response) => response.output.map((item) => item.type).join(' ');
    const said = (response) => response.output.at(-1).content[0].text;

    test('plain answer', async () => {
      const response = await send({ ...base, input: 'hello' });
      assert.equal(said(response), 'Good day.');
    });

    test('a call and its answer', async () => {
      const response = await send({ ...base, input: 'one call' });
      assert.equal(types(response), 'code_interpreter_call message');
      checkCall(response.output[0], { code: 'print(6*7)', logs: '42\n' });
      assert.equal(said(response), 'The answer is 42.');
    });

    test('two rounds', async () => {
      const response = await send({ ...base, input: 'two rounds' });
      assert.equal(types(response), 'code_interpreter_call code_interpreter_call message');
      checkCall(response.output[1], { code: 'print(x + 1)', logs: '21\n' });
    });

    test('two calls in one turn', async () => {
      const response = await send({ ...base, input: 'in parallel' });
      assert.equal(types(response), 'code_interpreter_call code_interpreter_call message');
      checkCall(response.output[1], { code: 'print(y * 2)', logs: '10\n' });
    });

    test('the model repairs an error', async () => {
      const response = await send({ ...base, input: 'an error' });
      assert.equal(types(response), 'code_interpreter_call code_interpreter_call message');
      assert.equal(said(response), 'Half.');
    });

    test('reasoning before the call', async () => {
      const response = await send({ ...base, input: 'think first' });
      assert.equal(types(response), 'reasoning code_interpreter_call message');
    });

    test('arguments that are not JSON do not end the response', async () => {
      const response = await send({ ...base, input: 'not JSON' });
      assert.equal(types(response), 'code_interpreter_call message');
      assert.equal(said(response), 'Raw.');
    });

    test('history of whole items', async () => {
      const first = await send({ ...base, input: 'one call' });
      const output = first.output.map(({ parsed, ...item }) => item);
      const next = await send({ ...base, input: [{ role: 'user', content: 'one call' }, ...output, { role: 'user', content: 'hello' }] });
      assert.equal(said(next), 'Good day.');
    });

    test('an error of the upstream', async () => {
      await assert.rejects(send({ ...base, input: 'refuse' }), (error) => error.status === 503);
    });
  });
}

test('aimock: chat completions without the tool pass through', async () => {
  const answer = await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] });
  assert.equal(answer.choices[0].message.content, 'Good day.');
});
