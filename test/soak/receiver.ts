/**
 * Receiver of the soak, in a separate process so that its work delays no client: accepts batches at
 * `/NAME` and appends a line for each event, `id messageId revision`, to `DIRECTORY/NAME`. The lane
 * `flapping` alternates between success and several failures, until its mood is set to good.
 *
 *   bun test/soak/receiver.ts DIRECTORY MOOD_MS     prints its port
 */
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isRefused } from "./fates.ts";

const [directory = ".", moodMs = "20000"] = process.argv.slice(2);
const moods = ["good", "500", "good", "429", "good", "hangs", "good", "resets", "good", "slow"];
let mood = 0;
let steady = false;
setInterval(() => mood++, Number(moodMs));
const files = new Map<string, number>();

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 255,
  async fetch(request) {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "steady") {
      steady = true;
      return new Response();
    }
    const body: any = await request.json();
    const events: any[] = Array.isArray(body) ? body : [body];
    if (name === "flapping") {
      const refusal = steady ? undefined : await refusalOf(moods[mood % moods.length]!);
      if (refusal) return refusal;
      if (events.some(({ properties }) => isRefused(Number(properties.id.split(":")[1])))) {
        return new Response("refused", { status: 400 });
      }
    }
    const lines = events.map(
      ({ messageId, properties }) =>
        `${properties.id} ${messageId} ${properties.revision ?? "-"}\n`,
    );
    writeSync(fileOf(name), lines.join(""));
    return new Response();
  },
});
process.stdout.write(`${server.port}\n`);

async function refusalOf(state: string): Promise<Response | undefined> {
  switch (state) {
    case "500":
      return new Response("no", { status: 500 });
    case "429":
      return new Response("no", { status: 429, headers: { "retry-after": "2" } });
    case "hangs":
      await Bun.sleep(15_000);
      return new Response("late", { status: 503 });
    case "resets":
      return new Response(new ReadableStream({ start: (it) => it.error(new Error("reset")) }));
    case "slow":
      await Bun.sleep(500 + Math.random() * 1_000);
  }
  return undefined;
}

function fileOf(name: string): number {
  const file = files.get(name) ?? openSync(join(directory, name), "a");
  files.set(name, file);
  return file;
}
