// Starts what a test needs: the scripted model, and bin/caddy with the local
// sandbox before some upstream, and a tee that sees every byte for the client.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.resolve(import.meta.dirname, '../..');

// The name that the model sees. No client may ever see it.
export const toolName = 'zz_internal_python_7391';

// No log line may hold one of these.
export const apiKey = 'sk-e2e-first-5f0c1d92';
export const otherKey = 'sk-e2e-other-83ab7710';

// startModel runs the scripted model.
export async function startModel() {
  const child = spawn(process.env.E2E_MODEL ?? path.join(root, 'bin/scriptedmodel'), ['-listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the scripted model ended with ${code}`)));
    child.stdout.on('data', (text) => {
      const match = /listening on (\S+)/.exec(text);
      if (match) resolve(match[1]);
    });
  });
  return {
    url,
    // requests returns what arrived upstream since the last reset.
    requests: async () => (await (await fetch(`${url}/_requests`)).json()).requests,
    reset: () => fetch(`${url}/_requests`, { method: 'DELETE' }),
    stop: () => stop(child),
  };
}

// startGateway runs bin/caddy before an upstream.
export async function startGateway(upstream) {
  const folder = mkdtempSync(path.join(tmpdir(), 'code-interpreter-e2e-'));
  const port = await freePort();
  const python = process.env.CODE_PYTHON ?? execFileSync(path.join(root, 'scripts/python.sh'), { encoding: 'utf8' }).trim();
  const config = path.join(folder, 'Caddyfile');
  writeFileSync(
    config,
    `{
	admin off
	auto_https off
	log {
		level DEBUG
	}
}

http://:${port} {
	bind 127.0.0.1
	log

	code_interpreter {
		tool_name ${toolName}
		sandbox local {
			python ${python}
		}
	}
	reverse_proxy ${upstream}
}
`,
  );

  const child = spawn(process.env.E2E_CADDY ?? path.join(root, 'bin/caddy'), ['run', '--config', config, '--adapter', 'caddyfile'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  let log = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => (log += text));
  await listening(child, port, () => log);

  const tee = await startTee(port);
  return {
    baseURL: `http://127.0.0.1:${tee.port}/v1`,
    // stop ends everything and then checks what must hold for every test.
    async stop() {
      tee.close();
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
      assert.ok(tee.seen().length > 0, 'the tee saw nothing');
      assert.ok(!tee.seen().includes(toolName), `a client saw the internal tool name:\n${around(tee.seen(), toolName)}`);
      for (const secret of [apiKey, otherKey]) {
        assert.ok(!log.includes(secret), `the log holds a credential:\n${around(log, secret)}`);
      }
      assert.ok(!/panic|goroutine \d+ \[/.test(log), `the log holds a panic:\n${log}`);
    },
  };
}

// startTee forwards HTTP and keeps each answer's headers and body.
async function startTee(port) {
  const answers = [];
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((request, response) => {
    const headers = { ...request.headers, 'accept-encoding': 'identity' };
    const forward = http.request({ host: '127.0.0.1', port, agent, method: request.method, path: request.url, headers });
    forward.on('error', () => response.destroy());
    forward.on('response', (answer) => {
      const parts = [Buffer.from(answer.rawHeaders.join('\n') + '\n')];
      answers.push(parts);
      response.writeHead(answer.statusCode, answer.headers);
      answer.on('data', (chunk) => {
        parts.push(chunk);
        response.write(chunk);
      });
      answer.on('end', () => response.end());
      answer.on('error', () => response.destroy());
    });
    response.on('close', () => forward.destroy());
    request.pipe(forward);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    seen: () => answers.map((parts) => Buffer.concat(parts).toString()).join('\n'),
    close: () => {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(child, port, log) {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`Caddy did not start:\n${log()}`);
    const open = await new Promise((resolve) => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (open) return;
    await sleep(50);
  }
  throw new Error(`Caddy does not listen:\n${log()}`);
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.removeAllListeners('exit');
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await Promise.race([gone, sleep(10_000).then(() => child.kill('SIGKILL'))]);
}

function around(text, word) {
  const at = text.indexOf(word);
  return text.slice(Math.max(0, at - 300), at + 300);
}
