// Vercel's AI SDK, whose parser drops without a word every event that is not
// exactly as it expects.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { ask } from './support/check.mjs';
import { apiKey, startGateway, startModel } from './support/gateway.mjs';

let model, gateway, openai;

before(async () => {
  model = await startModel();
  gateway = await startGateway(model.url);
  openai = createOpenAI({ baseURL: gateway.baseURL, apiKey });
});

after(async () => {
  await gateway?.stop();
  await model?.stop();
});

const ways = {
  generateText: async (request) => {
    const result = await generateText(request);
    const steps = result.steps;
    return { text: result.text, steps, messages: steps.flatMap((step) => step.response.messages).slice(-steps.at(-1).response.messages.length) };
  },
  streamText: async (request) => {
    let failure;
    const result = streamText({ ...request, onError: ({ error }) => (failure = error) });
    await result.consumeStream();
    if (failure) throw failure;
    return { text: await result.text, steps: await result.steps, messages: (await result.response).messages };
  },
};

for (const [way, send] of Object.entries(ways)) {
  describe(`ai: ${way}`, () => {
    const base = (more) => ({
      model: openai.responses('scripted'),
      tools: { code_interpreter: openai.tools.codeInterpreter({}) },
      maxRetries: 0,
      ...more,
    });

    const calls = (result) => result.steps.flatMap((step) => step.toolCalls);
    const logs = (result) =>
      result.steps
        .flatMap((step) => step.toolResults)
        .filter((outcome) => outcome.toolName === 'code_interpreter')
        .map((outcome) => outcome.output.outputs.map((output) => output.logs).join(''));

    test('plain answer', async () => {
      const result = await send(base({ prompt: 'hello' }));
      assert.equal(result.text, 'You said: hello');
      assert.deepEqual(calls(result), []);
    });

    test('a call and its answer', async () => {
      const result = await send(base({ prompt: ask('print(6*7)') }));
      assert.match(result.text, /The code printed:\n42/);
      const [call] = calls(result);
      assert.equal(call.toolName, 'code_interpreter');
      assert.equal(call.providerExecuted, true);
      assert.equal(call.input.code, 'print(6*7)\n');
      assert.match(call.input.containerId, /^cntr_/);
      assert.deepEqual(logs(result), ['42\n']);
    });

    test('tool_choice names the tool', async () => {
      const result = await send(base({ prompt: ask('print(1)'), toolChoice: { type: 'tool', toolName: 'code_interpreter' } }));
      assert.deepEqual(logs(result), ['1\n']);
    });

    test('two rounds', async () => {
      const result = await send(base({ prompt: ask(['x = 20', 'print(x + 1)']) }));
      assert.deepEqual(logs(result), ['', '21\n']);
    });

    test('the model repairs an error', async () => {
      const result = await send(base({ prompt: ask(['print(1/0)', 'print(1/2)'], '[repair]') }));
      assert.equal(logs(result).at(-1), '0.5\n');
      assert.match(result.text, /ZeroDivisionError/);
    });

    test('a session keeps its variables', async () => {
      const providerOptions = { openai: { metadata: { session_id: `ai ${way}` } } };
      await send(base({ prompt: ask('kept = 11'), providerOptions }));
      const result = await send(base({ prompt: ask('print(kept)'), providerOptions }));
      assert.deepEqual(logs(result), ['11\n']);
    });

    for (const store of [true, false]) {
      const providerOptions = { openai: { store, include: store ? undefined : ['reasoning.encrypted_content'] } };

      test(`a mixed turn, store ${store}`, async () => {
        const request = base({ prompt: ask('print("code")', '[reasoning] [mixed get_weather]'), providerOptions, stopWhen: stepCountIs(3) });
        request.tools.get_weather = tool({ description: 'The weather.', inputSchema: z.object({}), execute: async () => 'sunny' });
        const result = await send(request);
        assert.match(result.text, /The code printed:\ncode[^]*get_weather returned:\n"?sunny/);
        assert.equal(result.steps.length, 2);
      });

      test(`history, store ${store}`, async () => {
        const first = { role: 'user', content: ask('print("before")', '[reasoning]') };
        const result = await send(base({ messages: [first], providerOptions }));
        const next = await send(
          base({ messages: [first, ...result.messages, { role: 'user', content: 'and now?' }], providerOptions }),
        );
        assert.equal(next.text, 'You said: and now?');
      });
    }

    test('previous_response_id', async () => {
      const result = await send(base({ prompt: ask(['a = 1', 'print(a)']) }));
      const { responseId } = result.steps.at(-1).providerMetadata.openai;
      const next = await send(base({ prompt: 'and now?', providerOptions: { openai: { previousResponseId: responseId } } }));
      assert.equal(next.text, 'You said: and now?');
    });
  });
}

test('ai: the parts of a stream come in order', async () => {
  const result = streamText({
    model: openai.responses('scripted'),
    tools: { code_interpreter: openai.tools.codeInterpreter({}) },
    prompt: ask('print(5)'),
  });
  const parts = [];
  for await (const part of result.fullStream) if (parts.at(-1) !== part.type) parts.push(part.type);
  assert.deepEqual(
    parts.filter((type) => /^tool|^text/.test(type)),
    ['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result', 'text-start', 'text-delta', 'text-end'],
  );
});
