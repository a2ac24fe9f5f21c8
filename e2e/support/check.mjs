// What every answer must be, whichever client got it.

import assert from 'node:assert/strict';

// ask returns a prompt that makes the scripted model run blocks of Python.
export function ask(blocks, words = '') {
  const fenced = [blocks].flat().map((code) => '```python\n' + code + '\n```');
  return `${words}\nPlease run this:\n${fenced.join('\nand then this:\n')}`;
}

// checkCall checks a code_interpreter_call item and returns it.
export function checkCall(item, { code, logs }) {
  assert.equal(item.type, 'code_interpreter_call');
  assert.match(item.id, /^ci_[\w-]+$/);
  assert.match(item.container_id, /^cntr_[0-9a-f]{48}$/);
  assert.equal(item.status, 'completed');
  assert.equal(item.code, code + '\n');
  if (logs === null) assert.equal(item.outputs, null);
  else if (logs !== undefined) assert.equal(logsOf(item), logs);
  return item;
}

// logsOf joins the logs of a call.
export function logsOf(item) {
  return item.outputs
    .filter((output) => output.type === 'logs')
    .map((output) => output.logs)
    .join('');
}

// tokens is how the scripted model counts.
export const tokens = (text) => Math.ceil([...text].length / 4);

// checkEvents checks the grammar of a Responses stream (wire/openai.md 3 of
// the project's notes) and returns the final response.
export function checkEvents(events) {
  assert.equal(events[0].type, 'response.created');
  assert.equal(events[1].type, 'response.in_progress');
  assert.deepEqual(events[0].response.output, []);
  const last = events.at(-1);
  assert.ok(['response.completed', 'response.incomplete', 'response.failed'].includes(last.type), last.type);

  const items = []; // as they were when done
  let open; // the one item that is between added and done
  let phases = [];
  let deltas = '';
  events.forEach((event, i) => {
    assert.equal(event.sequence_number, i, `sequence_number of ${event.type}`);
    if (event.response) assert.equal(event.response.id, events[0].response.id);
    if (event.type === 'response.output_item.added') {
      assert.equal(open, undefined, 'items must not overlap');
      assert.equal(event.output_index, items.length);
      open = event.item;
      phases = [];
      deltas = '';
      return;
    }
    if (event.output_index === undefined) return;
    assert.ok(open, `${event.type} outside of an item`);
    assert.equal(event.output_index, items.length, `output_index of ${event.type}`);
    if (event.type === 'response.output_item.done') {
      assert.equal(event.item.id, open.id);
      assert.equal(event.item.type, open.type);
      if (open.type === 'code_interpreter_call') {
        assert.equal(deltas, event.item.code, 'the deltas add up to the code');
        // A call that was never run has no code to show, and was not interpreted.
        const ran = event.item.status === 'completed';
        assert.deepEqual(phases, ran
          ? ['in_progress', 'delta', 'code.done', 'interpreting', 'completed']
          : ['in_progress', ...(deltas ? ['delta'] : []), 'code.done']);
        assert.equal(event.item.container_id, open.container_id);
      }
      items.push(event.item);
      open = undefined;
      return;
    }
    assert.equal(event.item_id, open.id, `item_id of ${event.type}`);
    const phase = {
      'response.code_interpreter_call.in_progress': 'in_progress',
      'response.code_interpreter_call_code.delta': 'delta',
      'response.code_interpreter_call_code.done': 'code.done',
      'response.code_interpreter_call.interpreting': 'interpreting',
      'response.code_interpreter_call.completed': 'completed',
    }[event.type];
    if (phase === 'delta') deltas += event.delta;
    if (phase && phases.at(-1) !== phase) phases.push(phase);
  });
  assert.equal(open, undefined, 'an item was never done');
  assert.deepEqual(last.response.output, items);
  return last.response;
}
