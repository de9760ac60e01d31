import { expect, test } from "bun:test";
import { pixel, removeDirectory, startServer, startSink, waitFor } from "./server.ts";

const PIXELS = 30;

test("retained events survive a kill and fewer ingest processes, and skip new connections", async () => {
  const sink = startSink();
  const keep = ["--events-retention-age", "3600"];
  const first = await startServer({ flags: [...keep, "--ingest-processes", "2"] });
  const { source } = (await first.api("POST", "/v2/sources", { name: "Web", type: "http" })).body;
  const { writeKey } = source;
  for (let n = 0; n < PIXELS; n++) {
    const sent = { writeKey, userId: `u${n % 3}`, event: `E${n}` };
    expect((await pixel(first, "track", sent)).status).toBe(200);
  }
  const found = async (server: typeof first, query: string) => {
    const { events } = (await server.api("GET", `/v2/events/search?limit=100&${query}`)).body;
    return events.map((it: { event: { event: string } }) => it.event.event);
  };
  const all = Array.from({ length: PIXELS }, (_, n) => `E${PIXELS - 1 - n}`);
  await waitFor(async () => (await found(first, "")).length === PIXELS);
  expect((await found(first, "")).sort()).toEqual([...all].sort());
  await first.stop("SIGKILL");

  const { directory } = first;
  const second = await startServer({ directory, flags: keep });
  expect((await found(second, "")).sort()).toEqual([...all].sort());
  expect((await found(second, "userId=u1")).length).toBe(PIXELS / 3);
  const { events } = (await second.api("GET", "/v2/system")).body;
  expect(events.retention).toEqual({ seconds: 3_600, bytes: 0 });
  expect(events.bytes).toBeGreaterThan(PIXELS * 50);
  expect(Date.parse(events.oldestAt)).toBeGreaterThan(Date.now() - 3_600_000);

  const config = { webhookUrl: sink.url };
  const made = await second.api("POST", "/v2/destinations", { name: "D", type: "webhook", config });
  const ends = { sourceId: source.id, destinationId: made.body.destination.id };
  expect((await second.api("POST", "/v2/connections", ends)).status).toBe(201);
  await pixel(second, "track", { writeKey, userId: "u1", event: "New" });
  await waitFor(() => sink.events.length > 0);
  expect(await second.stop()).toBe(0);
  expect(sink.events.map(({ event }) => event)).toEqual(["New"]);
  sink.stop();
  removeDirectory(directory);
}, 300_000);
