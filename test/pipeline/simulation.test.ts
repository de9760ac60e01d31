import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import fc from "fast-check";
import { pino } from "pino";
import { Registry } from "prom-client";
import { setLive } from "../../src/catalog/management/live-windows.ts";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { ApiError } from "../../src/errors.ts";
import { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { TOPOLOGY_POLL_MS } from "../../src/pipeline/partition-pipeline.ts";
import { createPipeline, type Pipeline } from "../../src/pipeline/pipeline.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { runSeed } from "../seed.ts";
import { runs } from "../tier.ts";
import { decode, eventOf, FakeLive, FakeSandbox, MemoryLog, record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf } from "./rig.ts";

const quiet = pino({ level: "silent" });

/**
 * Random lives of a pipeline: faults of destinations and the sandbox, connections and
 * destinations that are switched off and on, restarts, new code, replays. In the end everything
 * works again, and the judge looks where each event went.
 */
const numRuns = Number(process.env.SIMULATION_RUNS ?? runs(15, 100));
const destinationIds = ["one", "two"] as const;
type DestinationId = (typeof destinationIds)[number];

const to = fc.constantFrom(...destinationIds);

/** Parts that fail for a while, as on a full disk or with too many open files. */
const parts = ["catalog", "ledger", "log"] as const;
type Part = (typeof parts)[number];
const part = fc.constantFrom(...parts);
/** Functions of parts that reject. The log has no others that fail. */
const rejecting = new Set<unknown>(["change", "read"]);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("append" as const), count: fc.nat(60) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("others" as const), count: fc.nat(60) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("connection" as const), to }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("destination" as const), to }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reconfigure" as const), to }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("publish" as const), to }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("sandbox" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("fault" as const), of: part }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("replay" as const) }) },
);
/** Steps that change the catalog. */
const changes = new Set(["connection", "destination", "reconfigure", "publish"]);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly directory = mkdtempSync(join(tmpdir(), "simulation-"));
  readonly live = new FakeLive();
  readonly log = new MemoryLog();
  readonly sandbox = new FakeSandbox();
  /** `destination n part` → how often it was taken. */
  readonly taken = new Map<string, number>();
  /** `destination n` of every event that was accepted while its connection was live. */
  readonly owed = new Set<string>();
  readonly clock;
  pipeline: Pipeline;
  metrics = new Registry();
  count = 0;
  healed = false;
  revision = 0;
  readonly broken = new Set<Part>();

  constructor(seed: number) {
    this.clock = hurried(2_000, seed + 1);
    this.live.addSource();
    for (const id of destinationIds) {
      this.live.putDestination(id, { type: "fake", config: { id, batchSize: 7 } });
      this.live.connect(id, {}, { id: `to-${id}` });
    }
    // One in ten is dropped, one fails, one becomes two.
    this.sandbox.codes.set("code", (event) => {
      if (event.n % 10 === 3) return null;
      if (event.n % 10 === 4) throw new Error("Four");
      return event.n % 10 === 5 ? [0, 1].map((part) => ({ ...event, part })) : event;
    });
    this.live.publish("one", "code", "v0");
    this.pipeline = this.start();
  }

  start(): Pipeline {
    this.metrics = new Registry();
    return createPipeline({
      ...{ live: this.failing("catalog", this.live), sandbox: this.sandbox, decode, eventOf },
      ...{ metrics: this.metrics, clock: this.clock, logger: quiet },
      readers: new Map([["0", this.failing("log", this.log)]]),
      kinds: new Map([["fake", this.kind()]]),
      ledger: new Ledger(this.failing("ledger", this.openStore()), quiet),
      onDurable: this.log.onDurable,
      retryWindowMs: 3_600_000,
    });
  }

  openStore() {
    return openStore({ path: join(this.directory, "delivery"), name: "The ledger", logger: quiet });
  }

  /** Returns a part whose functions, and those of its tables, fail while `name` is broken. */
  failing<T extends object>(name: Part, whole: T): T {
    return new Proxy(whole, {
      get: (target, key) => {
        const value = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (this.broken.has(name) && key !== "close") {
            const error = new ApiError("unavailable", `The ${name} is being opened again`);
            if (rejecting.has(key)) return Promise.reject(error);
            if (name !== "log") throw error;
          }
          const result = value.apply(target, given);
          return key === "table" ? this.failing(name, result) : result;
        };
      },
    });
  }

  /** Takes most, puts off some, refuses a few. */
  kind(): DestinationKind {
    return {
      ...{ kind: "fake", configSchema: Type.Object({}), secretKeys: [], validate: () => [] },
      batchSize: (config) => config.batchSize as number,
      test: async () => [],
      concurrency: 4,
      open: ({ id }) => ({
        deliver: async (events): Promise<DeliveryResult> => {
          await Bun.sleep(0);
          const chance = this.healed ? 1 : this.clock.random();
          if (chance < 0.05) return { kind: "rejected", reason: "No" };
          if (chance < 0.3) return { kind: "retry", reason: "Later" };
          for (const { bytes } of events) {
            const { n, part } = JSON.parse(Buffer.from(bytes).toString());
            const key = `${id} ${n} ${part ?? ""}`;
            this.taken.set(key, (this.taken.get(key) ?? 0) + 1);
          }
          return { kind: "delivered" };
        },
        close: async () => {},
      }),
    };
  }

  isLive(id: DestinationId): boolean {
    return this.live.connections.get(`to-${id}`)!.until === undefined;
  }

  /** Enables or disables a connection or its destination as the catalog does. */
  switch(id: DestinationId, over: { connection?: boolean; destination?: boolean }): void {
    const connection = this.live.connections.get(`to-${id}`)!;
    const destination = this.live.destinations.get(id)!;
    const enabled = over.connection ?? connection.enabled;
    const open = over.destination ?? destination.enabled;
    const next = setLive({ ...connection, enabled }, enabled && open, { "0": this.log.end() });
    this.live.connections.set(connection.id, next);
    this.live.putDestination(id, { enabled: open });
  }

  letters() {
    return lettersOf(this.pipeline);
  }

  async take(action: Step): Promise<void> {
    // A catalog that cannot be read cannot be changed.
    if (this.broken.has("catalog") && changes.has(action.do)) return;
    if (action.do === "append") {
      for (let i = 0; i < action.count; i++) {
        const n = this.count++;
        for (const id of destinationIds) if (this.isLive(id)) this.owed.add(`${id} ${n}`);
        this.log.append(record(n, `user ${n % 7}`, { receivedAt: this.clock.now() }));
      }
    } else if (action.do === "others") {
      // An event of an unconnected source: no lane wakes, and all skip it.
      const others = Array.from({ length: action.count }, () => {
        return record(0, "other", { receivedAt: this.clock.now(), sourceId: "other" });
      });
      this.log.append(...others);
    } else if (action.do === "wait") await Bun.sleep(action.ms);
    else if (action.do === "fault") {
      if (!this.broken.delete(action.of)) this.broken.add(action.of);
    } else if (action.do === "restart") {
      this.broken.clear();
      await this.pipeline.close();
      this.pipeline = this.start();
    } else if (action.do === "connection") {
      const { enabled } = this.live.connections.get(`to-${action.to}`)!;
      this.switch(action.to, { connection: !enabled });
    } else if (action.do === "destination") {
      this.switch(action.to, { destination: !this.live.destinations.get(action.to)!.enabled });
    } else if (action.do === "reconfigure") {
      const { config } = this.live.destinations.get(action.to)!;
      const batchSize = ((config.batchSize as number) % 9) + 1;
      this.live.putDestination(action.to, { config: { ...config, batchSize } });
    } else if (action.do === "publish") {
      this.revision += 1;
      this.live.publish("one", "code", `v${this.revision}`);
    } else if (action.do === "sandbox") {
      this.sandbox.failure = this.sandbox.failure ? undefined : new SandboxUnavailable("None");
    } else {
      if (this.broken.has("ledger")) return;
      const ids = this.letters().map(({ id }) => id);
      await this.pipeline.deadLetters.replay("workspace", ids.slice(0, 20));
    }
  }

  async heal(): Promise<void> {
    this.healed = true;
    this.broken.clear();
    this.sandbox.failure = undefined;
    for (const id of destinationIds) this.switch(id, { connection: true, destination: true });
    // Until the lanes have seen it, a lag of zero says nothing.
    await Bun.sleep(2 * TOPOLOGY_POLL_MS);
    const lag = this.metrics.getSingleMetric("pixelmill_lane_lag_events")!;
    let left = 1;
    while (left > 0) {
      await Bun.sleep(5);
      left = (await lag.get()).values.reduce((sum, { value }) => sum + value, 0);
    }
  }

  async end(): Promise<void> {
    await this.pipeline.close();
    rmSync(this.directory, { recursive: true });
  }
}

/** Every owed event is accounted for in each of its outputs; nothing else ever went out. */
function judge(world: World): void {
  const letters = new Map<string, number>();
  for (const { destinationId, event, stage } of world.letters()) {
    const { n, part } = event as { n: number; part?: number };
    const key = `${destinationId} ${n} ${part ?? ""}${stage === "transform" ? " failed" : ""}`;
    letters.set(key, (letters.get(key) ?? 0) + 1);
  }
  for (let n = 0; n < world.count; n++) {
    for (const id of destinationIds) {
      const key = `${id} ${n} `;
      const ends = (suffix: string) =>
        (world.taken.get(key + suffix) ?? 0) + (letters.get(key + suffix) ?? 0);
      const whole = ends("") + ends(" failed");
      const parts = [ends("0"), ends("1")];
      const about = { id, n, whole, parts };
      if (!world.owed.has(`${id} ${n}`)) expect(about).toEqual({ id, n, whole: 0, parts: [0, 0] });
      else if (id === "one" && n % 10 === 3) expect(whole + parts[0]! + parts[1]!).toBeLessThan(2);
      else if (id === "one" && n % 10 === 5) {
        // A part that failed is replayed as the whole event once the code has changed.
        expect(Math.max(whole, Math.min(...parts))).toBeGreaterThanOrEqual(1);
      } else expect(about).toEqual({ id, n, whole: 1, parts: [0, 0] });
    }
  }
}

/** Most of a life is waiting: several are led at the same time. */
const AT_ONCE = 3;

test.concurrent.each(Array.from({ length: AT_ONCE }, (_, n) => n + 1))(
  "every routed event ends delivered, dropped by code or as a dead letter (%i)",
  async (n) => {
    const seen = { one: 0, two: 0, letters: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 40 }),
        fc.nat(1_000_000),
        async (steps, seed) => {
          const world = new World(seed);
          try {
            for (const action of steps) await world.take(action);
            await world.heal();
            judge(world);
            for (const key of world.taken.keys()) seen[key.startsWith("one") ? "one" : "two"] += 1;
            seen.letters += world.letters().length;
          } finally {
            await world.end();
          }
        },
      ),
      { numRuns: Math.ceil(numRuns / AT_ONCE), seed: runSeed + n },
    );
    // Otherwise the checks have seen no event.
    expect(seen.one).toBeGreaterThan(0);
    expect(seen.two).toBeGreaterThan(0);
    expect(seen.letters).toBeGreaterThan(0);
  },
  300_000 + numRuns * 5_000,
);
