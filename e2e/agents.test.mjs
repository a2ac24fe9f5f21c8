// OpenAI's agents SDK with its codeInterpreterTool.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Agent, OpenAIProvider, Runner, codeInterpreterTool, setTracingDisabled, tool, user } from '@openai/agents';
import { z } from 'zod';
import { ask } from './support/check.mjs';
import { apiKey, startGateway, startModel } from './support/gateway.mjs';

let model, gateway, runner;

before(async () => {
  setTracingDisabled(true);
  model = await startModel();
  gateway = await startGateway(model.url);
  runner = new Runner({ modelProvider: new OpenAIProvider({ baseURL: gateway.baseURL, apiKey, useResponses: true }) });
});

after(async () => {
  await gateway?.stop();
  await model?.stop();
});

const weather = tool({
  name: 'get_weather',
  description: 'The weather here and now.',
  parameters: z.object({}),
  execute: async () => 'sunny',
});

const agent = (modelSettings = {}, ...more) =>
  new Agent({ name: 'tester', model: 'scripted', tools: [codeInterpreterTool({ includeOutputs: true }), ...more], modelSettings });

const ways = {
  run: (by, input, options) => runner.run(by, input, options),
  'run, streamed': async (by, input, options) => {
    const result = await runner.run(by, input, { ...options, stream: true });
    for await (const _ of result);
    await result.completed;
    return result;
  },
};

// hosted returns the code interpreter calls of a run.
const hosted = (result) =>
  result.newItems.map((item) => item.rawItem).filter((item) => item.type === 'hosted_tool_call' && item.name === 'code_interpreter_call');

for (const [way, send] of Object.entries(ways)) {
  describe(`agents: ${way}`, () => {
    test('plain answer', async () => {
      const result = await send(agent(), 'hello');
      assert.equal(result.finalOutput, 'You said: hello');
    });

    test('a call and its answer', async () => {
      const result = await send(agent(), ask('print(6*7)'));
      assert.match(result.finalOutput, /The code printed:\n42/);
      const [call] = hosted(result);
      assert.equal(call.status, 'completed');
      assert.equal(call.providerData.code, 'print(6*7)\n');
      assert.match(call.providerData.container_id, /^cntr_/);
      assert.equal(call.providerData.outputs[0].logs, '42\n');
      assert.ok(result.rawResponses[0].usage.outputTokens > 0);
    });

    test('two rounds', async () => {
      const result = await send(agent(), ask(['x = 20', 'print(x + 1)']));
      assert.equal(hosted(result).length, 2);
      assert.match(result.finalOutput, /21/);
    });

    test('the model repairs an error', async () => {
      const result = await send(agent(), ask(['print(1/0)', 'print(1/2)'], '[repair]'));
      assert.equal(hosted(result).length, 2);
      assert.match(result.finalOutput, /ZeroDivisionError[^]*0\.5/);
    });

    test('a session keeps its variables', async () => {
      const settings = { providerData: { metadata: { session_id: `agents ${way}` } } };
      await send(agent(settings), ask('kept = 11'));
      const result = await send(agent(settings), ask('print(kept)'));
      assert.match(result.finalOutput, /11/);
    });

    for (const store of [true, false]) {
      test(`a mixed turn, store ${store}`, async () => {
        const settings = { store, providerData: store ? {} : { include: ['code_interpreter_call.outputs', 'reasoning.encrypted_content'] } };
        const result = await send(agent(settings, weather), ask('print("code")', '[reasoning] [mixed get_weather]'));
        assert.match(result.finalOutput, /The code printed:\ncode[^]*get_weather returned:\nsunny/);
      });

      test(`history, store ${store}`, async () => {
        const settings = { store, providerData: store ? {} : { include: ['code_interpreter_call.outputs', 'reasoning.encrypted_content'] } };
        const first = await send(agent(settings), ask(['b = 2', 'print(b)'], '[reasoning]'));
        const next = await send(agent(settings), [...first.history, user('and now?')]);
        assert.equal(next.finalOutput, 'You said: and now?');
      });
    }

    test('previous_response_id', async () => {
      const first = await send(agent({}, weather), ask('print("code")', '[mixed get_weather]'), {});
      const next = await send(agent(), 'and now?', { previousResponseId: first.lastResponseId });
      assert.equal(next.finalOutput, 'You said: and now?');
    });
  });
}
