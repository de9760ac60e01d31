import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { runPixelmill } from "./command.ts";
import {
  lanesAreThrough,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

const sink = startSink();
const directory = temporaryDirectory();
const flags = ["--ingest-processes", "2"];
let server: Server;
let writeKey = "";
let sourceId = "";
let destinationId = "";

beforeAll(async () => {
  server = await startServer({ directory, flags });
  ({ writeKey, sourceId, destinationId } = await route(server, { url: sink.url }));
  const settings = { dedupSeconds: 3_600 };
  expect((await server.api("PUT", `/v2/sources/${sourceId}`, { settings })).status).toBe(200);
});
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(directory);
});

async function send(...messageIds: string[]): Promise<number> {
  return await sendTo(server, messageIds);
}

async function sendTo(to: Server, messageIds: readonly string[]): Promise<number> {
  const batch = messageIds.map((messageId) => ({
    ...{ type: "track", event: "seen", anonymousId: "ann", messageId },
  }));
  // A connection of its own, which any of the ingest processes may take.
  const { status } = await fetch(`${to.dataPlane}/v1/batch`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${writeKey}:`)}`, connection: "close" },
    // The last event has no id of a user, and is refused.
    body: JSON.stringify({ batch: [...batch, { type: "track", event: "anonymous" }] }),
  });
  return status;
}

const ids = () => sink.events.map(({ messageId }) => messageId).sort();
const isThrough = () => waitFor(async () => (await lanesAreThrough(server, 1)) || undefined);

test("an event that is sent again is delivered once, also after a restart, and is shown", async () => {
  for (let n = 0; n < 8; n++) expect(await send("a", "b", `own-${n}`)).toBe(200);
  const own = Array.from({ length: 8 }, (_, n) => `own-${n}`);
  await waitFor(() => sink.events.length >= 10);
  await isThrough();
  expect(ids()).toEqual(["a", "b", ...own]);

  await server.stop("SIGKILL");
  server = await startServer({ directory, flags });
  for (let n = 0; n < 4; n++) expect(await send("a", "own-0", `later-${n}`)).toBe(200);
  await waitFor(() => sink.events.length >= 14);
  await isThrough();
  const later = Array.from({ length: 4 }, (_, n) => `later-${n}`);
  expect(ids()).toEqual(["a", "b", ...later, ...own]);

  const { body } = await server.api("GET", "/v2/events/search?messageId=a");
  const outcomes = body.events.map(({ outcomes: [first] }: any) => [first.outcome, first.reason]);
  expect(outcomes).toHaveLength(12);
  expect(outcomes.filter(([outcome]: string[]) => outcome === "settled")).toHaveLength(1);
  const time = /^The source had sent an event with this messageId at \d{4}-/;
  for (const [outcome, reason] of outcomes) {
    if (outcome !== "settled")
      expect({ outcome, reason }).toEqual({
        outcome: "repeated",
        reason: expect.stringMatching(time),
      });
  }

  const repeated = await waitFor(async () => {
    const path = `/v2/metrics?kind=source&id=${sourceId}`;
    const figures = (await server.api("GET", path)).body;
    const sum = figures.repeated.reduce((all: number, one: number | null) => all + (one ?? 0), 0);
    return sum >= 8 ? sum : undefined;
  });
  // The killed server had counted in memory what it found; the search was not repeated.
  expect(repeated).toBeLessThanOrEqual(22);
  const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
  expect(metrics).toMatch(/^pixelmill_repeated_events_total(\{.*\})? 8$/m);
});

test("a replay delivers each event of its range once more", async () => {
  const before = ids();
  const { status, body } = await server.api("POST", "/v2/replays", {
    ...{ destinationId, from: "2020-01-01T00:00:00Z", to: new Date(Date.now() + 1).toISOString() },
  });
  expect({ status, body }).toMatchObject({ status: 201 });
  await waitFor(() => sink.events.length >= 2 * before.length);
  await isThrough();
  expect(ids()).toEqual([...before, ...before].sort());
});

test("a backup has the setting, events that were refused, and the ids of events", async () => {
  const pixelmill = async (...args: string[]) => {
    expect(await runPixelmill(args)).toMatchObject({ code: 0, errors: "" });
  };
  const copied = temporaryDirectory();
  const file = join(directory, "backup.tar.zst");
  await pixelmill("backup", file, "--data", join(directory, "data"));
  await pixelmill("restore", file, "--data", join(copied, "data"));
  const copy = await startServer({ directory: copied, flags });
  const { source } = (await copy.api("GET", `/v2/sources/${sourceId}`)).body;
  expect(source.settings.dedupSeconds).toBe(3_600);
  const before = sink.events.length;
  expect(await sendTo(copy, ["a", "own-1", "of the copy"])).toBe(200);
  await waitFor(() => sink.events.length > before);
  await waitFor(async () => (await lanesAreThrough(copy, 1)) || undefined);
  expect(sink.events.slice(before).map(({ messageId }) => messageId)).toEqual(["of the copy"]);
  const path = `/v2/events/search?refused=true&sourceId=${sourceId}`;
  expect((await copy.api("GET", path)).body.events).toHaveLength(13);
  await copy.stop();
  removeDirectory(copied);
});
