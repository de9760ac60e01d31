/**
 * What a request to a receiver costs the process that sends it: the guarded egress beside other
 * clients, which guard nothing, and a bare socket, which is what no client can beat. Connections are
 * kept, bodies are 1 KB. Rounds take turns, so that a busy machine hurts all alike.
 *
 *   bun bench/egress.ts [--requests 10000] [--rounds 5] [--at-once 8]
 */
import { Agent, request as requestHttp } from "node:http";
import { connect, type Socket } from "node:net";
import { parseArgs } from "node:util";
import { createEgress } from "../src/egress/egress.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    rounds: { type: "string", default: "5" },
    "at-once": { type: "string", default: "8" },
  },
});
const requests = Number(values.requests);
const atOnce = Number(values["at-once"]);

const sink = Bun.spawn([process.execPath, `${import.meta.dir}/egress-sink.ts`], { stdout: "pipe" });
const first = await sink.stdout.getReader().read();
const port = Number(new TextDecoder().decode(first.value));
const url = `http://127.0.0.1:${port}/hook`;
const body = Buffer.alloc(1_024, "a");
const headers = { "content-type": "application/json", "user-agent": "pixelmill" };
const { signal } = new AbortController();

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const agent = new Agent({ keepAlive: true });
// By its path: Bun has a module of its own under the bare name.
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
/** An answer is one piece here; it is not read. */
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
      ...{ workspaceId: "w", url, method: "POST", headers, body, signal },
      ...{ timeoutMs: 60_000, answerBytesMax: 65_536, isRepeatable: true },
    }),
  "node:http": byNodeHttp,
  fetch: async () => (await fetch(url, { method: "POST", headers, body })).arrayBuffer(),
  undici: async () => {
    const { body: answer } = await undici.request(url, {
      ...{ method: "POST", headers, body, dispatcher },
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

const cost = new Map<string, number[]>(Object.keys(clients).map((name) => [name, []]));
for (let count = -1; count < Number(values.rounds); count++) {
  for (const [name, ask] of Object.entries(clients)) {
    const micros = await round(ask);
    // The first round warms up.
    if (count >= 0) cost.get(name)!.push(micros);
  }
}
const ours = median(cost.get("egress")!);
await report(
  "egress",
  [...cost].map(([client, micros]) => ({
    client,
    "requests/CPU-s": Math.round(1e6 / median(micros)),
    "µs a request": round2(median(micros)),
    "to egress": round2(median(micros) / ours),
  })),
);
egress.close();
sink.kill();
process.exit(0);
