import { describe, expect, test } from "bun:test";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { LANE_DELIVERIES_MAX } from "../../src/limits.ts";

/** What the suite needs of one kind: its configs, and a look at what arrived. */
export interface Bench {
  kind: DestinationKind;
  /** A config that works. */
  config: Record<string, unknown>;
  /** Configs that must be refused, with the pointer of the fault. */
  faulty: { config: Record<string, unknown>; path: string }[];
  /** Events that arrived, as values in their order. */
  arrived(): Promise<unknown[]>;
  end(): Promise<void>;
}

const event = (value: unknown) => Buffer.from(JSON.stringify(value));
const idle = new AbortController().signal;

/** What every kind of destination promises. */
export function describeDestination(name: string, prepare: () => Promise<Bench> | Bench): void {
  describe(`${name} as a destination`, () => {
    const run = (title: string, body: (bench: Bench) => Promise<void>) =>
      test(title, async () => {
        const bench = await prepare();
        try {
          await body(bench);
        } finally {
          await bench.end();
        }
      });

    run("a good config has no faults; a faulty one names where and what", async (bench) => {
      expect(bench.kind.validate(bench.config)).toEqual([]);
      for (const { config, path } of bench.faulty) {
        const faults = bench.kind.validate(config);
        expect({ config, paths: faults.map((fault) => fault.path) }).toEqual({
          config,
          paths: [path],
        });
        for (const { message } of faults) expect(message).toMatch(/^Expected .*[^.]$/);
      }
    });

    run("batch size and concurrency keep their bounds", async ({ kind, config }) => {
      expect(kind.batchSize(config)).toBeGreaterThanOrEqual(1);
      expect(kind.concurrency(config)).toBeGreaterThanOrEqual(1);
      expect(kind.concurrency(config)).toBeLessThanOrEqual(LANE_DELIVERIES_MAX);
    });

    run("delivers events in their order, as they are", async ({ kind, config, arrived }) => {
      const open = kind.open(config, "workspace");
      const values = [
        { n: 0, text: "ä€🙂 \\n \u2028" },
        { n: 1, nested: { list: [1, null] } },
      ];
      const size = kind.batchSize(config);
      for (let at = 0; at < values.length; at += size) {
        const verdict = await open.deliver(values.slice(at, at + size).map(event), idle);
        expect(verdict).toEqual({ kind: "delivered" });
      }
      await open.close();
      expect(await arrived()).toEqual(values);
    });

    run("an aborted delivery may be tried again", async ({ kind, config }) => {
      const open = kind.open(config, "workspace");
      const verdict = await open.deliver([event({ n: 0 })], AbortSignal.abort(new Error("Stop")));
      expect(verdict.kind).toBe("retry");
      await open.close();
    });

    run("two open destinations of one config do not disturb each other", async (bench) => {
      const [first, second] = [
        bench.kind.open(bench.config, "workspace"),
        bench.kind.open(bench.config, "workspace"),
      ];
      const events = [0, 1, 2, 3, 4, 5].map((n) => event({ n }));
      const verdicts = await Promise.all(
        events.map((one, n) => (n % 2 ? first : second).deliver([one], idle)),
      );
      expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["delivered"]));
      await first.close();
      expect(await second.deliver([event({ n: 6 })], idle)).toEqual({ kind: "delivered" });
      await second.close();
      const numbers = (await bench.arrived()).map((value) => (value as { n: number }).n);
      expect(numbers.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    });
  });
}
