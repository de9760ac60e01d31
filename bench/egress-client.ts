/**
 * Runs one client of bench/egress.ts and prints its CPU per request, in µs.
 *
 *   bun bench/egress-client.ts NAME PORT REQUESTS AT_ONCE
 */
import { Agent, request as requestHttp } from "node:http";
import { connect, type Socket } from "node:net";
import { createEgress } from "../src/egress/egress.ts";

const [name = "", port, requests, atOnce] = [
  process.argv[2],
  ...process.argv.slice(3).map(Number),
] as [string, number, number, number];
const url = `http://127.0.0.1:${port}/hook`;
const body = Buffer.alloc(1_024, "a");
const headers = { "content-type": "application/json", "user-agent": "pixelmill" };
const { signal } = new AbortController();

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const agent = new Agent({ keepAlive: true });
// Imported by path: under the bare name Bun substitutes its built-in module.
const undici = await import("../node_modules/undici/index.js");
const dispatcher = new undici.Agent({ connections: atOnce, pipelining: 1 });

function byNodeHttp(): Promise<void> {
  return new Promise((resolve, reject) => {
    const at = { host: "127.0.0.1", port, path: "/hook", method: "POST", agent };
    const outgoing = requestHttp({ ...at, headers: { ...headers, "content-length": 1_024 } });
    outgoing.on("response", (answer) => answer.on("data", () => {}).on("end", resolve));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const sockets: { socket: Socket; answered: () => void }[] = [];
const bytes = Buffer.concat([
  Buffer.from(`POST /hook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n`),
  body,
]);
/** Sends one request over a bare socket. The response arrives in one chunk and is not parsed. */
function byBareSocket(): Promise<void> {
  const kept = sockets.pop() ?? { socket: connect(port, "127.0.0.1"), answered: () => {} };
  if (kept.socket.listenerCount("data") === 0) kept.socket.on("data", () => kept.answered());
  return new Promise((resolve) => {
    kept.answered = () => {
      sockets.push(kept);
      resolve();
    };
    kept.socket.write(bytes);
  });
}

const clients: Record<string, () => Promise<unknown>> = {
  egress: () =>
    egress.request({
      workspaceId: "w",
      url,
      method: "POST",
      headers,
      body,
      signal,
      timeoutMs: 60_000,
      answerBytesMax: 65_536,
      isRepeatable: true,
    }),
  "node:http": byNodeHttp,
  fetch: async () => (await fetch(url, { method: "POST", headers, body })).arrayBuffer(),
  undici: async () => {
    const { body: answer } = await undici.request(url, {
      method: "POST",
      headers,
      body,
      dispatcher,
    });
    await answer.arrayBuffer();
  },
  "bare socket": byBareSocket,
};

async function round(ask: () => Promise<unknown>): Promise<number> {
  let left = requests;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await ask();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

const ask = clients[name];
if (ask === undefined) throw new Error(`Expected one of ${Object.keys(clients).join(", ")}`);
// The first round warms up.
await round(ask);
process.stdout.write(`${await round(ask)}\n`);
process.exit(0);
