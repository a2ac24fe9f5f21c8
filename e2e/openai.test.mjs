// The official SDK: every scenario by each of its three ways to ask.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { ask, checkCall, checkEvents, logsOf, tokens } from './support/check.mjs';
import { apiKey, otherKey, startGateway, startModel, toolName } from './support/gateway.mjs';

const interpreter = { type: 'code_interpreter', container: { type: 'auto' } };
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather here and now.',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
  strict: true,
};
const base = { model: 'scripted', tools: [interpreter], include: ['code_interpreter_call.outputs'] };

let model, gateway, client;

before(async () => {
  model = await startModel();
  gateway = await startGateway(model.url);
  client = new OpenAI({ baseURL: gateway.baseURL, apiKey, maxRetries: 0 });
});

after(async () => {
  await gateway?.stop();
  await model?.stop();
});

const ways = {
  create: (request, by = client) => by.responses.create(request),
  'create, streamed': async (request, by = client) => {
    const events = [];
    for await (const event of await by.responses.create({ ...request, stream: true })) events.push(event);
    return checkEvents(events);
  },
  'stream helper': async (request, by = client) => {
    const stream = by.responses.stream(request);
    const events = [];
    for await (const event of stream) events.push(event);
    const response = await stream.finalResponse();
    assert.deepEqual(plain(response.output), plain(events.at(-1).response.output));
    return response;
  },
};

// plain takes away what the helper adds to items.
const plain = (items) => JSON.parse(JSON.stringify(items, (key, value) => (['parsed', 'parsed_arguments'].includes(key) ? undefined : value)));

// replay is what a client sends back of a response.
const replay = (response) => plain(response.output);

const text = (response) =>
  response.output
    .filter((item) => item.type === 'message')
    .map((item) => item.content.map((part) => part.text).join(''))
    .join('');

for (const [way, send] of Object.entries(ways)) {
  describe(`openai: ${way}`, () => {
    test('plain answer', async () => {
      const response = await send({ ...base, input: 'hello' });
      assert.equal(text(response), 'You said: hello');
      assert.equal(response.status, 'completed');
      assert.deepEqual(response.tools, [interpreter]);
      assert.equal(response.tool_choice, 'auto');
    });

    test('a call and its answer', async () => {
      const code = "print('six times seven is', 6*7)\n6*7";
      const response = await send({ ...base, input: ask(code) });
      assert.deepEqual(response.output.map((item) => item.type), ['code_interpreter_call', 'message']);
      checkCall(response.output[0], { code, logs: 'six times seven is 42\n42' });
      assert.match(text(response), /^The code printed:\nsix times seven is 42/);
      assert.deepEqual(response.tools, [interpreter]);

      const { usage } = response;
      assert.equal(usage.output_tokens, tokens(JSON.stringify({ code: code + '\n' })) + tokens(text(response)));
      assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
    });

    test('outputs come only on request', async () => {
      const response = await send({ ...base, include: undefined, input: ask('print(1)') });
      checkCall(response.output[0], { code: 'print(1)', logs: null });
      assert.match(text(response), /1/);
    });

    test('a picture', async () => {
      const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 2, 4])\nplt.show()';
      const response = await send({ ...base, input: ask(code) });
      const pictures = response.output[0].outputs.filter((output) => output.type === 'image');
      assert.equal(pictures.length, 1);
      assert.match(pictures[0].url, /^data:image\/png;base64,iVBOR/);
    });

    test('two rounds share the interpreter', async () => {
      const response = await send({ ...base, input: ask(['x = 20', 'print(x + 1)']) });
      assert.deepEqual(response.output.map((item) => item.type), ['code_interpreter_call', 'code_interpreter_call', 'message']);
      const [first, second] = response.output;
      checkCall(first, { code: 'x = 20', logs: '' });
      checkCall(second, { code: 'print(x + 1)', logs: '21\n' });
      assert.equal(second.container_id, first.container_id);
      assert.notEqual(second.id, first.id);
    });

    test('two calls in one turn run in order', async () => {
      const response = await send({ ...base, input: ask(['y = 5', 'print(y * 2)'], '[parallel]') });
      assert.deepEqual(response.output.map((item) => item.type), ['code_interpreter_call', 'code_interpreter_call', 'message']);
      checkCall(response.output[1], { code: 'print(y * 2)', logs: '10\n' });
    });

    test('text and reasoning before the call', async () => {
      const response = await send({ ...base, input: ask('print(3)', '[reasoning] [text]') });
      assert.deepEqual(
        response.output.map((item) => item.type),
        ['reasoning', 'message', 'code_interpreter_call', 'message'],
      );
    });

    test('the model repairs an error', async () => {
      const response = await send({ ...base, input: ask(['print(1/0)', 'print(1/2)', 'print("never")'], '[repair]') });
      assert.deepEqual(response.output.map((item) => item.type), ['code_interpreter_call', 'code_interpreter_call', 'message']);
      checkCall(response.output[0], { code: 'print(1/0)' });
      checkCall(response.output[1], { code: 'print(1/2)', logs: '0.5\n' });
      assert.match(text(response), /ZeroDivisionError[^]*0\.5/);
    });

    for (const choice of ['required', { type: 'code_interpreter' }]) {
      test(`tool_choice ${JSON.stringify(choice)} ends`, async () => {
        const response = await send({ ...base, tool_choice: choice, input: ask('print(4)') });
        assert.deepEqual(response.output.map((item) => item.type), ['code_interpreter_call', 'message']);
        assert.deepEqual(response.tool_choice, choice);
      });
    }

    test('a session keeps its variables, for its owner only', async () => {
      const session = { ...base, metadata: { session_id: `session of ${way}` } };
      const first = await send({ ...session, input: ask('kept = "still here"') });
      const second = await send({ ...session, input: ask('print(kept)') });
      checkCall(second.output[0], { code: 'print(kept)', logs: 'still here\n' });
      assert.equal(second.output[0].container_id, first.output[0].container_id);

      const other = new OpenAI({ baseURL: gateway.baseURL, apiKey: otherKey, maxRetries: 0 });
      const third = await send({ ...session, input: ask('print(kept)') }, other);
      assert.match(text(third), /NameError/);
      assert.notEqual(third.output[0].container_id, first.output[0].container_id);
    });

    test('without a session nothing is kept', async () => {
      await send({ ...base, input: ask('lost = 1') });
      const response = await send({ ...base, input: ask('print(lost)') });
      assert.match(text(response), /NameError/);
    });

    describe('a mixed turn', () => {
      const mixed = { ...base, tools: [interpreter, weather] };
      const input = ask('print("from the code")', '[reasoning] [mixed get_weather]');
      const expected = /The code printed:\nfrom the code[^]*get_weather returned:\nsunny/;

      async function firstTurn(more) {
        const response = await send({ ...mixed, ...more, input });
        assert.deepEqual(response.output.map((item) => item.type), ['reasoning', 'code_interpreter_call', 'function_call']);
        checkCall(response.output[1], { code: 'print("from the code")', logs: 'from the code\n' });
        assert.equal(response.output[2].name, 'get_weather');
        return [response, { type: 'function_call_output', call_id: response.output[2].call_id, output: 'sunny' }];
      }

      test('is continued by previous_response_id', async () => {
        const [response, output] = await firstTurn();
        const next = await send({ ...mixed, previous_response_id: response.id, input: [output] });
        assert.match(text(next), expected);
      });

      test('is continued by previous_response_id without the tool', async () => {
        const [response, output] = await firstTurn();
        const next = await send({ ...mixed, tools: [weather], include: undefined, previous_response_id: response.id, input: [output] });
        assert.match(text(next), /from the code[^]*sunny/);
      });

      test('is continued by whole items', async () => {
        const [response, output] = await firstTurn();
        const next = await send({ ...mixed, input: [{ role: 'user', content: input }, ...replay(response), output] });
        assert.match(text(next), expected);
      });

      test('is continued by whole items, unstored', async () => {
        const unstored = { store: false, include: [...base.include, 'reasoning.encrypted_content'] };
        const [response, output] = await firstTurn(unstored);
        const next = await send({ ...mixed, ...unstored, input: [{ role: 'user', content: input }, ...replay(response), output] });
        assert.match(text(next), expected);
      });
    });

    describe('history', () => {
      const input = ask(['z = 8', 'print(z)'], '[reasoning]');

      test('of whole items', async () => {
        const first = await send({ ...base, input });
        await model.reset();
        const next = await send({ ...base, input: [{ role: 'user', content: input }, ...replay(first), { role: 'user', content: 'and now?' }] });
        assert.equal(text(next), 'You said: and now?');
        const [{ body }] = await model.requests();
        assert.deepEqual(
          body.input.map((item) => item.type ?? 'message'),
          ['message', 'reasoning', 'function_call', 'function_call_output', 'reasoning', 'function_call', 'function_call_output', 'message', 'message'],
        );
        assert.match(JSON.stringify(body.input[6].output), /8/);
        assert.equal(body.input[2].name, toolName);
        assert.deepEqual(JSON.parse(body.input[2].arguments), { code: 'z = 8\n' });
      });

      test('of whole items without outputs', async () => {
        const first = await send({ ...base, include: undefined, input });
        const next = await send({ ...base, include: undefined, input: [{ role: 'user', content: input }, ...replay(first), { role: 'user', content: 'and now?' }] });
        assert.equal(text(next), 'You said: and now?');
      });

      // OpenAI refuses such reasoning.
      test('of whole items, unstored and without encrypted reasoning', async () => {
        const first = await send({ ...base, store: false, input });
        assert.equal(first.output[0].encrypted_content ?? undefined, undefined);
        const next = await send({ ...base, store: false, input: [{ role: 'user', content: input }, ...replay(first), { role: 'user', content: 'and now?' }] });
        assert.equal(text(next), 'You said: and now?');
      });

      test('by previous_response_id', async () => {
        const first = await send({ ...base, input });
        const next = await send({ ...base, previous_response_id: first.id, input: 'and now?' });
        assert.equal(text(next), 'You said: and now?');
        assert.equal(next.previous_response_id, first.id);
        const last = await send({ ...base, previous_response_id: next.id, input: 'at last?' });
        assert.equal(text(last), 'You said: at last?');
      });
    });

    test('an error of the upstream', async () => {
      await assert.rejects(send({ ...base, input: 'hello', temperature_of_the_room: 20 }), (error) => {
        assert.equal(error.status, 400);
        assert.equal(error.param, 'temperature_of_the_room');
        return true;
      });
    });
  });
}

describe('openai', () => {
  test('twelve requests at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => client.responses.create({ ...base, input: ask(`print("number", ${i})`) })),
    );
    answers.forEach((response, i) => assert.equal(logsOf(response.output[0]), `number ${i}\n`));
  });

  test('a response can be retrieved and deleted', async () => {
    const response = await client.responses.create({ ...base, input: ask('print(1)') });
    const found = await client.responses.retrieve(response.id);
    assert.deepEqual(found.output, response.output);
    await client.responses.delete(response.id);
    await assert.rejects(client.responses.retrieve(response.id), (error) => error.status === 404);
  });

  test('the next code sees the container of the last response', async () => {
    const first = await client.responses.create({ ...base, metadata: { session_id: 'chain' }, input: ask('w = 9') });
    const next = await client.responses.create({ ...base, metadata: { session_id: 'chain' }, previous_response_id: first.id, input: ask('print(w)') });
    checkCall(next.output[0], { code: 'print(w)', logs: '9\n' });
  });

  test('code in the middle of a stream shows before the call is whole', async () => {
    const code = Array.from({ length: 50 }, (_, i) => `print(${i})`).join('\n');
    const deltas = [];
    for await (const event of await client.responses.create({ ...base, stream: true, input: ask(code) })) {
      if (event.type === 'response.code_interpreter_call_code.delta') deltas.push(event.delta);
    }
    assert.ok(deltas.length > 50, `only ${deltas.length} deltas`);
  });

  test('chat completions without the tool pass through', async () => {
    const request = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] };
    const whole = await client.chat.completions.create(request);
    assert.equal(whole.choices[0].message.content, 'You said: hello');
    let streamed = '';
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
      streamed += chunk.choices[0]?.delta.content ?? '';
    }
    assert.equal(streamed, 'You said: hello');
  });
});
