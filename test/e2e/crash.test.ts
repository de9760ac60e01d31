import { expect, test } from "bun:test";
import { runs } from "../tier.ts";
import {
  childrenOf,
  pixel,
  removeDirectory,
  route,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

/** `kill -9` of the whole server under load: every pixel that was answered 200 is delivered. */
test("every acknowledged event is delivered after SIGKILL and restart", async () => {
  const ROUNDS = runs(1, 3);
  const directory = temporaryDirectory();
  const sink = startSink();
  const acknowledged = new Set<string>();
  const sent = new Set<string>();
  let writeKey = "";

  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServer({ directory });
    if (round === 0) ({ writeKey } = await route(server, { url: sink.url }));
    const before = acknowledged.size;
    let alive = true;
    const load = Array.from({ length: 16 }, async (_, worker) => {
      for (let index = 0; alive; index++) {
        const id = `${round}-${worker}-${index}`;
        sent.add(id);
        const query = { writeKey, userId: `user-${worker}`, event: "Load", "properties.id": id };
        const response = await pixel(server, "track", query).catch(() => undefined);
        if (response?.status === 200) acknowledged.add(id);
        else if (response) throw new Error(`answered ${response.status}`);
        else return;
      }
    });
    await waitFor(() => acknowledged.size - before >= 500);
    const guests = childrenOf(server.pid);
    await server.stop("SIGKILL");
    alive = false;
    await Promise.all(load);
    // Ingest and guest processes end with the server.
    await waitFor(() => guests.every((pid) => !isRunning(pid)), "the children to be gone");
    expect(guests.length).toBeGreaterThan(0);
  }

  const server = await startServer({ directory });
  const delivered = () => new Set(sink.events.map((event) => event.properties.id));
  const missing = () => [...acknowledged.difference(delivered())];
  await waitFor(() => missing().length === 0, "all acknowledged events").catch(() => {});
  expect(missing()).toEqual([]);
  expect([...delivered()].filter((id) => !sent.has(id))).toEqual([]);

  // A repeated event has the same messageId.
  const messageIds = new Map<string, string>();
  for (const { messageId, properties } of sink.events) {
    expect(messageIds.get(properties.id) ?? messageId).toBe(messageId);
    messageIds.set(properties.id, messageId);
  }
  expect(await server.stop()).toBe(0);
  sink.stop();
  removeDirectory(directory);
}, 300_000);

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
