import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import type {
  DeliveryResult,
  DestinationKind,
  OutgoingEvent,
} from "../../src/destinations/destination.ts";
import { MemoryBudget } from "../../src/pipeline/memory-budget.ts";
import { runs } from "../tier.ts";
import { holds } from "../until.ts";
import { record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf, numbersTo, Rig, sorted, until } from "./rig.ts";

/** Events of one round of the crash test. */
const EVENTS = 2_000;
/** Live events beside a replay of the others. */
const LIVE_EVENTS = 500;
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 1);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

/**
 * A store of objects by key, as S3 is: what is written under a key again replaces what was there.
 */
class Store {
  readonly objects = new Map<string, number[]>();
  readonly names: string[] = [];
  /** Called before and after each attempt; what it gives before is the verdict. */
  before: (
    events: readonly OutgoingEvent[],
  ) => DeliveryResult | Promise<DeliveryResult | undefined> | undefined = () => undefined;
  after: () => void = () => {};

  kind({ batchSize = 1_000, bytes = 1 << 20, ageMs = 60_000 } = {}): DestinationKind {
    return {
      ...{ kind: "fake", configSchema: Type.Object({}), secretKeys: [], validate: () => [] },
      test: async () => [],
      batchSize: () => batchSize,
      concurrency: 1,
      batchLimits: () => ({ bytes, ageMs }),
      open: () => ({
        deliver: async (events, _, name = ""): Promise<DeliveryResult> => {
          this.names.push(name);
          const verdict = await this.before(events);
          if (verdict !== undefined) return verdict;
          const groups = Map.groupBy(events, ({ input }) => `${input.sourceId}/${name}`);
          for (const [key, group] of groups) this.objects.set(key, group.map(numberOf));
          this.after();
          return { kind: "delivered" };
        },
        close: async () => {},
      }),
    };
  }

  numbers(): number[] {
    return sorted([...this.objects.values()].flat());
  }
}

const numberOf = ({ bytes }: OutgoingEvent) =>
  (JSON.parse(Buffer.from(bytes).toString()) as { n: number }).n;

function start(store: Store, bounds = {}, over: Parameters<Rig["start"]>[0] = {}) {
  rig.live.putDestination("one", { type: "fake" });
  rig.live.connect("one", {}, { id: "connection" });
  return rig.start({ kinds: new Map([["fake", store.kind(bounds)]]), ...over });
}

const append = (from: number, to: number) => {
  for (let n = from; n < to; n++) rig.log.append(record(n, `user ${n % 7}`));
};

describe("batched delivery", () => {
  test("a batched delivery begins at its number of events, and the others wait", async () => {
    const store = new Store();
    start(store, { batchSize: 100 });
    append(0, 250);
    await until(() => store.objects.size === 2);
    await holds(300, () =>
      expect([...store.objects.values()]).toEqual([numbersTo(100), numbersTo(200).slice(100)]),
    );
  });

  test("a batched delivery begins at its number of bytes", async () => {
    const store = new Store();
    start(store, { bytes: 10_000 });
    append(0, 500);
    await until(() => store.objects.size >= 2);
    const bytes = [...store.objects.values()].map(({ length }) => length * 60);
    for (const size of bytes) expect(size).toBeLessThan(10_001);
  });

  test("all outputs of one event go in one batched delivery", async () => {
    const store = new Store();
    rig.sandbox.codes.set("triple", ({ n }) => [{ n }, { n }, { n }]);
    start(store, { batchSize: 4 });
    rig.live.publish("one", "triple", "v");
    append(0, 4);
    await until(() => store.objects.size === 2);
    expect([...store.objects.values()]).toEqual([
      [0, 0, 0, 1, 1, 1],
      [2, 2, 2, 3, 3, 3],
    ]);
  });

  test("a batched delivery begins when its first event has waited for its maximum age", async () => {
    const store = new Store();
    const started = performance.now();
    start(store, { ageMs: 400 });
    append(0, 3);
    await until(() => store.objects.size === 1);
    expect(performance.now() - started).toBeGreaterThanOrEqual(400);
    expect(store.numbers()).toEqual(numbersTo(3));
  });

  test("events that were gathered and not delivered are delivered after a restart", async () => {
    const store = new Store();
    start(store);
    append(0, 50);
    await Bun.sleep(200);
    await rig.stop();
    expect(store.names).toEqual([]);
    start(store, { ageMs: 100 });
    await until(() => store.objects.size > 0);
    expect(store.numbers()).toEqual(numbersTo(50));
  });

  test("a batched delivery begins when other lanes of the workspace need its memory", async () => {
    const store = new Store();
    const text = "x".repeat(64 << 10);
    rig.sandbox.codes.set("swell", ({ n }) => ({ n, text }));
    for (const id of ["one", "two", "three", "four"]) {
      rig.live.putDestination(id, { type: "fake" });
      rig.live.connect(id);
      rig.live.publish(id, "swell", `v-${id}`);
    }
    start(store, { bytes: 1 << 30, batchSize: 100_000 });
    append(0, 1_500);
    // Four times 94 MiB, of which a workspace may hold 64 MiB: nothing waits for its age.
    await until(() => [...store.objects.values()].flat().length >= 4 * 1_000, "deliveries");
  }, 300_000);
});

describe("failed batched delivery", () => {
  test("a failed batched delivery is repeated as a whole under its name", async () => {
    const store = new Store();
    let failures = 4;
    const sizes = new Set<number>();
    store.before = (events) => {
      sizes.add(events.length);
      return failures-- > 0 ? { kind: "retry", reason: "Later", afterMs: 1 } : undefined;
    };
    start(store, { batchSize: 40 });
    append(0, 40);
    await until(() => store.objects.size === 1, "the delivery");
    expect([...sizes]).toEqual([40]);
    expect(new Set(store.names).size).toBe(1);
  }, 300_000);

  test("a delivery that an earlier config refuses is repeated at once with the new one", async () => {
    const store = new Store();
    store.before = async () => {
      if (store.names.length > 1) return undefined;
      rig.live.putDestination("one", { config: { path: "changed" } });
      append(40, 1);
      // The lane has the new config before this attempt ends.
      await Bun.sleep(100);
      return { kind: "retry", reason: "Later", afterMs: 600_000 };
    };
    start(store, { batchSize: 40 });
    append(0, 40);
    await until(() => store.objects.size === 1, "the delivery");
    expect(new Set(store.names).size).toBe(1);
  }, 300_000);

  test("events that a failed delivery has written are not sent again, and become no dead letters", async () => {
    const store = new Store();
    const sent: number[][] = [];
    store.before = (events) => {
      sent.push(events.map(numberOf));
      const even = events.keys().filter((index) => numberOf(events[index]!) % 2 === 0);
      return { kind: "retry", reason: "One source is refused", delivered: new Set(even) };
    };
    const over = { clock: hurried(1_000), retryWindowMs: 60_000 };
    const { deadLetters } = start(store, { batchSize: 40 }, over);
    append(0, 40);
    await until(() => deadLetters.count("workspace") > 0);
    const odd = numbersTo(40).filter((n) => n % 2 === 1);
    expect(lettersOf(rig.pipeline).map(({ event }) => (event as { n: number }).n)).toEqual(odd);
    expect(sent[0]).toEqual(numbersTo(40));
    for (const numbers of sent.slice(1)) expect(numbers).toEqual(odd);
    expect(new Set(store.names).size).toBe(1);
  });

  test("a delivery of which a part was written is repeated as a whole after a stop", async () => {
    const store = new Store();
    store.before = (events) => {
      const even = events.keys().filter((index) => numberOf(events[index]!) % 2 === 0);
      return { kind: "retry", reason: "One source is refused", delivered: new Set(even) };
    };
    start(store, { batchSize: 40 });
    append(0, 40);
    await until(() => store.names.length > 1);
    await rig.stop();
    store.before = () => undefined;
    start(store, { batchSize: 40 });
    await until(() => store.objects.size > 0);
    expect(store.numbers()).toEqual(numbersTo(40));
    expect(new Set(store.names).size).toBe(1);
  });

  test("an interrupted delivery is repeated as a whole while other lanes need memory", async () => {
    const store = new Store();
    store.before = () => ({ kind: "retry", reason: "Later" });
    rig.sandbox.codes.set("same", ({ n }) => ({ n }));
    start(store, { batchSize: 40 });
    rig.live.publish("one", "same", "v");
    append(0, 40);
    await until(() => store.names.length > 0);
    await rig.stop();
    const code = Promise.withResolvers<void>();
    rig.sandbox.held.push(code.promise);
    const runs = rig.sandbox.batches.length;
    const registered = spyOn(MemoryBudget.prototype, "onPressure");
    store.before = () => undefined;
    start(store, { batchSize: 40 });
    await until(() => rig.sandbox.batches.length > runs);
    const [, flush] = registered.mock.lastCall!;
    registered.mockRestore();
    flush();
    code.resolve();
    await until(() => store.objects.size > 0);
    expect(store.numbers()).toEqual(numbersTo(40));
    expect(new Set(store.names).size).toBe(1);
  });

  test("a rejected batched delivery makes dead letters of all its events", async () => {
    const store = new Store();
    store.before = () => ({ kind: "rejected", reason: "No" });
    const pipeline = start(store, { batchSize: 40 });
    append(0, 40);
    await until(() => lettersOf(pipeline).length === 40);
    expect(store.names.length).toBe(1);
  });
});

const lives = [
  ["steady", "live"],
  ["moody", "replay"],
  ["moody", "live"],
  ["steady", "replay"],
] as const;
describe.each(lives.slice(0, runs(1, lives.length)))(
  "batched delivery killed repeatedly, %s code, %s events",
  (code, mode) => {
    test.each(numbersTo(ROUNDS))(
      "every event of a pipeline that is killed repeatedly is in exactly one object (round %d)",
      async () => {
        const { objects, kills, repeated } = await livesOf(code, mode);
        const all = [...objects.values()].flat();
        expect(all.length).toBe(new Set(all).size);
        // Only events that moody code drops when it runs again are missing.
        const events = mode === "replay" ? EVENTS + LIVE_EVENTS : EVENTS;
        if (code === "steady") expect(sorted(all)).toEqual(numbersTo(events));
        // Otherwise the test has tested nothing.
        expect(kills).toBeGreaterThan(4);
        expect(repeated).toBeGreaterThan(0);
      },
      300_000,
    );
  },
);

/** Objects that a pipeline in a process of its own leaves which is killed beside its requests. */
async function livesOf(code: string, mode: string) {
  const directory = mkdtempSync(join(tmpdir(), "gathering-"));
  const objects = new Map<string, number[]>();
  let repeated = 0;
  let left = 0;
  let child: Bun.Subprocess | undefined;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const numbers = (await request.json()) as number[];
      const kill = left-- <= 0;
      const isEarly = Math.random() < 0.3;
      if (kill && isEarly) child?.kill("SIGKILL");
      if (!kill || !isEarly) {
        const { pathname } = new URL(request.url);
        if (objects.has(pathname)) repeated += 1;
        objects.set(pathname, numbers);
      }
      if (kill) child?.kill("SIGKILL");
      return new Response();
    },
  });
  let kills = 0;
  for (let exit: number | undefined; exit !== 0; kills++) {
    left =
      kills < (mode === "live" ? runs(7, 12) : 7)
        ? Math.floor(Math.random() * 4)
        : Number.POSITIVE_INFINITY;
    child = Bun.spawn(
      [
        ...[process.execPath, join(import.meta.dir, "gathering-child.ts")],
        ...[directory, server.url.href, code, String(EVENTS), String(kills), mode],
      ],
      { stdout: "inherit", stderr: "inherit" },
    );
    exit = await child.exited;
    expect([0, 137]).toContain(exit);
  }
  await server.stop(true);
  rmSync(directory, { recursive: true });
  return { objects, kills, repeated };
}
