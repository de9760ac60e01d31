/**
 * Measures the CPU time of a request to a receiver: by the guarded egress, by other clients without
 * a guard, and by a bare socket as the lower bound. Connections are kept alive, bodies have 1 KB.
 * Each client has its own process, and rounds alternate, so that a busy machine affects all alike.
 *
 *   bun bench/egress.ts [--requests 10000] [--rounds 5] [--at-once 8]
 */
import { parseArgs } from "node:util";
import { boundCommand } from "../test/shared.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    rounds: { type: "string", default: "5" },
    "at-once": { type: "string", default: "8" },
  },
});
const clients = ["egress", "node:http", "fetch", "undici", "bare socket"];

const sink = Bun.spawn([...boundCommand, process.execPath, `${import.meta.dir}/egress-sink.ts`], {
  stdout: "pipe",
});
const first = await sink.stdout.getReader().read();
const port = new TextDecoder().decode(first.value).trim();

async function cpuMicros(client: string): Promise<number> {
  const parameters = [client, port, values.requests, values["at-once"]];
  const command = [process.execPath, `${import.meta.dir}/egress-client.ts`, ...parameters];
  const child = Bun.spawn(command, { stdout: "pipe" });
  return Number(await new Response(child.stdout).text());
}

const cost = new Map<string, number[]>(clients.map((client) => [client, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const client of clients) cost.get(client)!.push(await cpuMicros(client));
}
sink.kill();
const ours = median(cost.get("egress")!);
await report(
  "egress",
  [...cost].map(([client, micros]) => ({
    client,
    "requests/CPU-s": Math.round(1e6 / median(micros)),
    "µs per request": round2(median(micros)),
    "ratio to egress": round2(median(micros) / ours),
  })),
);
