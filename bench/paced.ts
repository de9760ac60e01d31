/**
 * Child process of load.ts: sends requests at an even rate, and times each from the moment it was
 * due. (With a rate, autocannon sends each second's requests in one burst, then pauses: it measures
 * the latency of a saturated server at any rate.)
 *
 *   bun bench/paced.ts URL RATE SECONDS CONNECTIONS
 */
import type { Socket } from "bun";
import { median, type Paced } from "./load.ts";

interface Client {
  socket: Socket<Client>;
  /** Due time of the request in flight; undefined while the connection is idle. */
  dueAt: number | undefined;
  received: number;
}

const OK = Buffer.from("HTTP/1.1 200");
const TICK_MS = 1;
/** Warm-up time, whose responses are not counted. */
const WARM_MS = 500;

const [url, rate, seconds, connections] = process.argv.slice(2);
const { hostname, port, host, pathname, search } = new URL(url!);
const request = Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
const perMs = Number(rate) / 1_000;
const waits: number[] = [];
const idle: Client[] = [];
/** Due times of requests that wait for an idle connection. */
const late: number[] = [];
/** Length of the first response; every other one has the same. */
let answerBytes = 0;
let failures = 0;

const clients = await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    const client = { dueAt: undefined, received: 0 } as unknown as Client;
    client.socket = await Bun.connect<Client>({
      hostname,
      port: Number(port),
      data: client,
      socket: { data: (socket, chunk) => receive(socket.data, chunk) },
    });
    return client;
  }),
);
idle.push(...clients);

const startedAt = performance.now();
const endsAt = startedAt + WARM_MS + Number(seconds) * 1_000;
let sent = 0;
const ticking = setInterval(() => {
  const now = performance.now();
  for (; sent < (now - startedAt) * perMs; sent++) send(startedAt + sent / perMs);
  if (now < endsAt) return;
  clearInterval(ticking);
  waits.sort((a, b) => a - b);
  const result: Paced = {
    rps: waits.length / Number(seconds),
    p50Ms: median(waits),
    p99Ms: waits[Math.floor(waits.length * 0.99)]!,
    failures: failures + late.length,
  };
  process.stdout.write(JSON.stringify(result));
  for (const { socket } of clients) socket.terminate();
}, TICK_MS);

function send(dueAt: number): void {
  const client = idle.pop();
  if (client === undefined) {
    late.push(dueAt);
    return;
  }
  client.dueAt = dueAt;
  if (client.socket.write(request) !== request.length) failures++;
}

function receive(client: Client, chunk: Buffer): void {
  if (client.received === 0 && !chunk.subarray(0, OK.length).equals(OK)) failures++;
  client.received += chunk.length;
  answerBytes ||= chunk.length;
  if (client.received < answerBytes || client.dueAt === undefined) return;
  const now = performance.now();
  if (client.dueAt > startedAt + WARM_MS) waits.push(now - client.dueAt);
  client.received = 0;
  idle.push(client);
  const next = late.shift();
  if (next !== undefined) send(next);
}
