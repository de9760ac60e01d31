import { afterEach, expect, jest, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFigures } from "../../src/backend/figures.ts";
import { sharedFigures } from "../../src/backend/shared-figures.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { type Store, withoutClose } from "../../src/store/store.ts";
import { listeningLogger, quiet } from "../log/support.ts";

const figures = { minute: () => new Map(), lag: async () => new Map() } as never;
let stack = new AsyncDisposableStack();

afterEach(async () => {
  jest.useRealTimers();
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

function temporaryStore(): Store {
  const path = mkdtempSync(join(tmpdir(), "pixelmill-figures-"));
  stack.defer(() => rmSync(path, { recursive: true }));
  return openStore({
    path,

    name: "The store of figures",
    logger: quiet,
  });
}

test("figures are recorded while their store is opened, and stored at the stop", async () => {
  const store = temporaryStore();
  let isClosed = false;
  const opened = Promise.withResolvers<Store>();
  const close = async () => {
    isClosed = true;
    await store.close();
  };
  const storage = { open: () => opened.promise, share: () => 0.5 };
  const record = openFigures({ logger: quiet, stack }, storage);
  const recorder = record({ figures });
  expect(recorder.tables()).toBeUndefined();
  opened.resolve({ ...withoutClose(store), close });
  await Bun.sleep(0);
  const write = spyOn(recorder.tables()!, "write");
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
  expect(write.mock.calls[0]?.[0]).not.toBeEmpty();
  expect(isClosed).toBe(true);
});

test("a store of figures that cannot be opened is opened again, until the stop", async () => {
  jest.useFakeTimers();
  const { logger, lines } = listeningLogger();
  let attempts = 0;
  const open = () => {
    attempts++;
    return Promise.reject(new Error("No broker answers"));
  };
  const record = openFigures({ logger, stack }, { open, share: () => 1 });
  const turn = async () => {
    for (let n = 0; n < 10; n++) await Promise.resolve();
  };
  await turn();
  expect(lines).toMatchObject([
    { reason: "No broker answers", msg: "figures cannot be opened; retrying" },
  ]);
  jest.advanceTimersByTime(29_000);
  await turn();
  expect(attempts).toBe(1);
  jest.advanceTimersByTime(1_000);
  await turn();
  expect(attempts).toBe(2);
  expect(record({ figures }).tables()).toBeUndefined();
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
  jest.advanceTimersByTime(60_000);
  await turn();
  expect(attempts).toBe(2);
});

test("attempts to open the figures of a cluster that fail share the clients of the brokers", async () => {
  const created: string[] = [];
  let hasTopic = false;
  const admin = {
    async listTopics() {
      if (!hasTopic) throw new Error("The topic cannot be read");
      return ["p.figures"];
    },
    metadata: async () => ({
      topics: new Map([["p.figures", { id: "1", partitions: [{ leader: 1, replicas: [1] }] }]]),
    }),
    describeConfigs: async () => [],
  };
  const made = <T>(name: string, client: T) => {
    created.push(name);
    return client;
  };
  const clients = {
    admin: () => made("admin", admin),
    producer: () => made("producer", {}),
    fetchConsumer: () => made("consumer", { topics: { track() {} } }),
  };
  const context = { config: { data: "/dev/null" }, logger: quiet } as never;
  const topic = { clients: clients as never, name: "p.figures", replicas: 1, logger: quiet };
  const { open } = sharedFigures(context, topic, () => 1);
  for (hasTopic of [false, false, true, true]) await expect(open()).rejects.toThrow();
  expect(created.sort()).toEqual(["admin", "consumer", "producer"]);
});
