import { expect, test } from "bun:test";
import { IDLE_CONNECTION_SECONDS_MAX } from "../../../src/settings/limits.ts";
import { MemoryLog } from "../../store/memory-log.ts";
import { until } from "../../until.ts";
import { startApi } from "../_setup.ts";

test("a connection stays open while the server makes a request wait for other nodes' changes", async () => {
  const log = new MemoryLog({ delayMs: () => 0 });
  const follow = log.follow.bind(log);
  let read = Promise.resolve();
  log.follow = (position, take) =>
    follow(position, async (entries) => {
      await read;
      await take(entries);
    });
  // Bun closes idle connections up to 4 s late.
  const answerMsMax = 1_000 * (IDLE_CONNECTION_SECONDS_MAX + 6);
  const api = await startApi({ answerMsMax }, { order: log });
  const over = Promise.withResolvers<void>();
  read = over.promise;
  try {
    const contents = () => log.entries.filter((entry) => entry!.length > 0).length;
    const before = contents();
    const changed = api.send("POST", "/v2/sources", { body: { name: "One" } });
    await until(() => contents() > before);
    const received = await api.send("GET", "/v2/destinations");
    expect(received.status).toBe(503);
    expect(received.body.message).toContain("No answer within");
    expect((await changed).status).toBe(503);
  } finally {
    over.resolve();
    await api.stop();
  }
});
