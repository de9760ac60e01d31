/**
 * Child process of send-pixels.ts: sends pixels of many users at an even rate. In the URL `@U`
 * stands for the user, `@T` for the due time of the pixel in milliseconds since the epoch, and `@K`
 * for one of the write keys `KEYS`, which have spaces between them and get `BURST` pixels each in
 * turn.
 *
 *   bun bench/pixels.ts URL COUNT RATE CONNECTIONS USERS [KEYS BURST]
 *
 * With a rate of 0 it sends pixels as fast as they are answered.
 */
import type { Socket } from "bun";

interface Client {
  socket: Socket<Client>;
  received: number;
}

const OK = Buffer.from("HTTP/1.1 200");
const TICK_MS = 1;

const [url, count, rate, connections, users, keys = "", burst = "1"] = process.argv.slice(2);
const writeKeys = keys.split(" ");
const { hostname, port, host, pathname, search } = new URL(url!);
const total = Number(count);
const perMs = Number(rate) / 1_000 || Number.POSITIVE_INFINITY;
const target = pathname + search;
const idle: Client[] = [];
let sent = 0;
let answered = 0;
let failures = 0;
/** Length of the first response; every other one has the same. */
let answerBytes = 0;
const { promise: done, resolve } = Promise.withResolvers<void>();

const clients = await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    const client = { received: 0 } as Client;
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
const ticking = setInterval(send, TICK_MS);
send();
await done;
clearInterval(ticking);
for (const { socket } of clients) socket.terminate();
process.stdout.write(JSON.stringify({ answered: answered - failures, failures }));

function send(): void {
  const elapsed = performance.now() - startedAt;
  while (sent < total && sent <= elapsed * perMs && idle.length > 0) {
    const client = idle.pop()!;
    const dueAt = performance.timeOrigin + startedAt + (perMs < 1e9 ? sent / perMs : elapsed);
    const path = target
      .replaceAll("@K", writeKeys[Math.floor(sent / Number(burst)) % writeKeys.length]!)
      .replaceAll("@U", String(sent % Number(users)))
      .replaceAll("@T", dueAt.toFixed(3).padStart(17, "0"));
    client.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    sent++;
  }
}

function receive(client: Client, chunk: Buffer): void {
  if (client.received === 0 && !chunk.subarray(0, OK.length).equals(OK)) failures++;
  client.received += chunk.length;
  answerBytes ||= chunk.length;
  if (client.received < answerBytes) return;
  client.received = 0;
  idle.push(client);
  answered++;
  if (answered === total) resolve();
  if (perMs > 1e9) send();
}
