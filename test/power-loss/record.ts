import { join } from "node:path";
import { pixel, type Server, startServer } from "../e2e/server.ts";
import type { RecordedDisk } from "./disk.ts";

/** Responses during the recording, each with the disk's position at that moment. */
export interface Trace {
  writeKey: string;
  /** Path of the file destination's file, below the data directory. */
  file: string;
  /** Position at which the server was ready for its first pixel. */
  ready: number;
  end: number;
  /** Pixels; ids are `user:number`, with ascending numbers per user. */
  pixels: { id: string; acknowledgedAt: number | undefined }[];
  changes: Change[];
  /** Events that the webhook has received. */
  deliveries: { id: string; at: number }[];
}

/**
 * Acknowledged change by the API: the expected response to GET `path`, with `token` if it made one.
 */
export interface Change {
  path: string;
  token?: string;
  at: number;
}

export const DATA = "data";
/**
 * Flags that keep events in segments of one second, so that files are often created and deleted.
 */
const FLAGS = ["--events-retention-age", "16"];
const USERS = 6;
const BIG_CHARS = 30_000;

/** Runs a server on the recorded disk under load; kills and restarts it once during the run. */
export async function recordRun(disk: RecordedDisk, seconds: number, sink: Sink): Promise<Trace> {
  const directory = disk.mountPoint;
  let server = await startServer({ directory, flags: FLAGS });
  const trace: Trace = {
    ...{ writeKey: "", file: "", ready: 0, end: 0, pixels: [], changes: [], deliveries: [] },
  };
  const change = (path: string, more: { token?: string } = {}) =>
    trace.changes.push({ path, ...more, at: disk.position() });
  sink.onEvent = (id) => trace.deliveries.push({ id, at: disk.position() });
  const webhookId = await build(server, sink.url, trace, change);
  trace.ready = disk.position();

  let on = true;
  let serving = true;
  const load = Array.from({ length: USERS }, async (_, index) => {
    // Half of the users send pixels near the size limit, to fill segments and blocks.
    const pad: Record<string, string> =
      index % 2 === 0 ? {} : { "properties.pad": "x".repeat(BIG_CHARS) };
    for (let number = 0; on; number++) {
      while (on && !serving) await Bun.sleep(20);
      const sent: Trace["pixels"][number] = {
        id: `u${index}:${number}`,
        acknowledgedAt: undefined,
      };
      trace.pixels.push(sent);
      const query = { writeKey: trace.writeKey, userId: `u${index}`, event: "Loss", ...pad };
      const answer = await pixel(server, "track", { ...query, "properties.id": sent.id }).catch(
        () => undefined,
      );
      if (answer?.status === 200) sent.acknowledgedAt = disk.position();
      await Bun.sleep(15);
    }
  });
  const changes = (async () => {
    for (let turn = 1; on; turn++) {
      if (serving) await changeSomething(server, turn, webhookId, change).catch(() => {});
      await Bun.sleep(150);
    }
  })();
  await Bun.sleep(seconds * 400);
  serving = false;
  await server.stop("SIGKILL");
  server = await startServer({ directory, flags: FLAGS });
  serving = true;
  await Bun.sleep(seconds * 600);
  on = false;
  await Promise.all([...load, changes]);
  trace.end = disk.position();
  await server.stop();
  return trace;
}

async function build(
  server: Server,
  webhookUrl: string,
  trace: Trace,
  change: (path: string) => void,
): Promise<string> {
  const make = async (kind: string, body: object) => {
    const { status, body: answer } = await server.api("POST", `/v2/${kind}s`, body);
    if (status > 201) throw new Error(`${kind}: ${status} ${JSON.stringify(answer)}`);
    change(`/v2/${kind}s/${answer[kind].id}`);
    return answer[kind];
  };
  const source = await make("source", { name: "Site", type: "http" });
  const webhook = await make("destination", {
    ...{ name: "Sink", type: "webhook", config: { webhookUrl, batchSize: 20 } },
  });
  const file = await make("destination", {
    ...{ name: "File", type: "file", config: { path: "deep/er/loss.jsonl" } },
  });
  for (const { id } of [webhook, file]) {
    await make("connection", { sourceId: source.id, destinationId: id });
  }
  const { workspace } = (await server.api("GET", "/v2/workspace")).body;
  trace.writeKey = source.writeKey;
  trace.file = join(DATA, "files", workspace.id, "deep/er/loss.jsonl");
  return webhook.id;
}

/** Creates a token in each turn, and in some turns a source or a published revision. */
async function changeSomething(
  server: Server,
  turn: number,
  webhookId: string,
  change: (path: string, more?: { token?: string }) => void,
): Promise<void> {
  const permissions = ["events:read"];
  const token = await server.api("POST", "/v2/tokens", { name: `t${turn}`, permissions });
  if (token.status === 201) change("/v2/workspace", { token: token.body.token.secret });
  if (turn % 3 === 0) {
    const made = await server.api("POST", "/v2/sources", { name: `s${turn}`, type: "http" });
    if (made.status === 201) change(`/v2/sources/${made.body.source.id}`);
  }
  if (turn % 4 === 1) {
    const code = `export function transformEvent(event) { event.properties.turn = ${turn}; return event; }`;
    const body = { name: "Turn", language: "javascript", code, destinationIds: [webhookId] };
    const made = await server.api("POST", "/transformations?publish=true", body);
    const { id, versionId } = made.body;
    if (made.status < 202) change(`/transformations/${id}/versions/${versionId}`);
  }
}

/** Receiver that accepts all events and reports their ids. */
export interface Sink {
  url: string;
  onEvent(id: string): void;
  stop(): void;
}

export function openSink(): Sink {
  const sink: Sink = { url: "", onEvent() {}, stop: () => server.stop(true) };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      for (const { properties } of (await request.json()) as any[]) sink.onEvent(properties.id);
      return new Response();
    },
  });
  sink.url = `http://127.0.0.1:${server.port}/`;
  return sink;
}
