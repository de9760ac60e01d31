/**
 * Receiver for bench/pipeline.ts: counts events and requests, and measures the latency of each
 * event since its `t0` (milliseconds since the epoch). POST accepts events, GET returns the
 * figures, DELETE resets them. Prints its port.
 */
let events = 0;
let requests = 0;
let waits: number[] = [];
const LEFT_BRACKET = 0x5b;
const TIME = '"t0":"';
const TIME_CHARS = 17;

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    if (request.method === "GET") return Response.json(told());
    if (request.method === "DELETE") reset();
    else take(Buffer.from(await request.arrayBuffer()));
    return new Response();
  },
});
process.stdout.write(`${server.port}\n`);

function take(body: Buffer): void {
  const now = performance.timeOrigin + performance.now();
  requests++;
  if (body[0] !== LEFT_BRACKET) events++;
  for (let at = body.indexOf(TIME); at >= 0; at = body.indexOf(TIME, at + 1)) {
    const start = at + TIME.length;
    waits.push(now - Number(body.toString("latin1", start, start + TIME_CHARS)));
    if (body[0] === LEFT_BRACKET) events++;
  }
}

function told() {
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0;
  return { events, requests, p50: at(0.5), p99: at(0.99) };
}

function reset(): void {
  events = 0;
  requests = 0;
  waits = [];
}
