import { describe, expect, test } from "bun:test";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { type TestStepName, testSteps } from "../../src/destinations/test-steps.ts";
import { LANE_DELIVERIES_MAX } from "../../src/settings/limits.ts";
import { hurried } from "../pipeline/hurried.ts";
import {
  disordered,
  eventOf,
  LaneDeliveryRig,
  type TestEvent,
} from "../pipeline/lane-delivery-rig.ts";
import { numbersTo, until } from "../pipeline/rig.ts";
import { outgoing } from "./outgoing.ts";

/** The configs of one kind, and a view of the events that arrived. */
export interface Bench {
  kind: DestinationKind;
  /** A config that works. */
  config: Record<string, unknown>;
  /** Configs that must be refused, with the pointer of the fault. */
  faulty: { config: Record<string, unknown>; path: string }[];
  /** Configs without faults that do not work, with the step of a connection test that shows it. */
  unusable: { config: Record<string, unknown>; step: TestStepName }[];
  /** Events that arrived, as values in their order. */
  arrived(): Promise<unknown[]>;
  end(): Promise<void>;
}

const idle = new AbortController().signal;

/** Runs the tests of every promise of a destination kind. */
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

    run(
      "a valid config has no faults, and a fault names its path and what was expected",
      async (bench) => {
        expect(bench.kind.validate(bench.config)).toEqual([]);
        for (const { config, path } of bench.faulty) {
          const faults = bench.kind.validate(config);
          expect({ config, paths: faults.map((fault) => fault.path) }).toEqual({
            config,
            paths: [path],
          });
          for (const { message } of faults) expect(message).toMatch(/^Expected .*[^.]$/);
        }
      },
    );

    run("batch size and concurrency are within their bounds", async ({ kind, config }) => {
      expect(kind.batchSize(config)).toBeGreaterThanOrEqual(1);
      expect(kind.concurrency).toBeGreaterThanOrEqual(1);
      expect(kind.concurrency).toBeLessThanOrEqual(LANE_DELIVERIES_MAX);
    });

    run("delivers events unchanged and in order", async ({ kind, config, arrived }) => {
      const open = kind.open(config, "workspace");
      const values = [
        { n: 0, text: "ä€🙂 \\n \u2028" },
        { n: 1, nested: { list: [1, null] } },
      ];
      const size = kind.batchSize(config);
      for (let at = 0; at < values.length; at += size) {
        const verdict = await open.deliver(
          values.slice(at, at + size).map((value) => outgoing(value)),
          idle,
        );
        expect(verdict).toEqual({ kind: "delivered" });
      }
      await open.close();
      expect(await arrived()).toEqual(values);
    });

    run("an aborted delivery is a retry", async ({ kind, config }) => {
      const open = kind.open(config, "workspace");
      const verdict = await open.deliver(
        [outgoing({ n: 0 })],
        AbortSignal.abort(new Error("Stop")),
      );
      expect(verdict.kind).toBe("retry");
      await open.close();
    });

    run("a connection test records each step, and deletes what it wrote", async (bench) => {
      const { kind, config, arrived } = bench;
      const steps = await kind.test(config, "workspace", idle);
      expect(steps.filter(({ ok }) => !ok)).toEqual([]);
      expect(steps.length).toBeGreaterThan(0);
      expectOrder(steps.map(({ step }) => step));
      for (const { durationMs } of steps) expect(Number.isInteger(durationMs)).toBe(true);
      const left = (await arrived()) as { event?: string }[];
      expect(left.filter(({ event }) => event !== "Connection test")).toEqual([]);
      const open = kind.open(config, "workspace");
      expect(await open.deliver([outgoing({ n: 0 })], idle)).toEqual({ kind: "delivered" });
      await open.close();
    });

    run("a connection test ends at the failed step with a reason", async (bench) => {
      for (const { config, step } of bench.unusable) {
        expect([config, bench.kind.validate(config)]).toEqual([config, []]);
        const steps = await bench.kind.test(config, "workspace", idle);
        expectOrder(steps.map((it) => it.step));
        expect(steps.find(({ ok }) => !ok)).toMatchObject({
          step,
          message: expect.stringMatching(/^[A-Z].*[^.]$/),
        });
      }
    });

    for (const place of ["first", "middle", "last"] as const) {
      run(`an event that always fails stops no other: ${place} of a batch`, async (bench) => {
        // Gathered deliveries fail as a whole, for the destination.
        if (bench.kind.batchLimits !== undefined) return;
        for (const failure of failures) await stopsNoOther(bench, failure, place);
        const events = (await bench.arrived()) as TestEvent[];
        expect(disordered(events)).toEqual([]);
        expect(events.filter(({ isPoison }) => isPoison)).toEqual([]);
      });
    }

    run("two open destinations with one config deliver independently", async (bench) => {
      const [first, second] = [
        bench.kind.open(bench.config, "workspace"),
        bench.kind.open(bench.config, "workspace"),
      ];
      const events = [0, 1, 2, 3, 4, 5].map((n) => outgoing({ n }));
      const verdicts = await Promise.all(
        events.map((one, n) => (n % 2 ? first : second).deliver([one], idle)),
      );
      expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["delivered"]));
      await first.close();
      expect(await second.deliver([outgoing({ n: 6 })], idle)).toEqual({ kind: "delivered" });
      await second.close();
      const numbers = (await bench.arrived()).map((value) => (value as { n: number }).n);
      expect(numbers.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    });
  });
}

/** Failures that may pass, of which a kind may return any. */
const failures: DeliveryResult[] = [
  { kind: "retry", reason: "Answered 500", scope: "event" },
  { kind: "retry", reason: "Answered 503" },
];
/** Numbers of the events, so that those of several rounds are in one order. */
let events = 0;

/** Delivers three batches, of which one has an event that fails whenever it is delivered. */
async function stopsNoOther(
  { kind, config }: Bench,
  failure: DeliveryResult,
  place: "first" | "middle" | "last",
): Promise<void> {
  const failing: DestinationKind = {
    ...kind,
    open(config, workspaceId) {
      const open = kind.open(config, workspaceId);
      return {
        close: () => open.close(),
        async deliver(outgoing, ...rest) {
          const hasPoison = outgoing.some((event) => eventOf(event).isPoison);
          return hasPoison ? failure : await open.deliver(outgoing, ...rest);
        },
      };
    },
  };
  const rig = new LaneDeliveryRig(failing, config, hurried(100));
  const size = Math.max(3, kind.batchSize(config));
  const index = size + { first: 0, middle: Math.floor(size / 2), last: size - 1 }[place];
  const pushed = numbersTo(3 * size).map((n): TestEvent => {
    const isPoison = n === index;
    return { n: events++, user: isPoison ? "poison" : `user ${n % 5}`, isPoison };
  });
  rig.push(...pushed);
  const poison = pushed[index]!;
  rig.push({ n: events++, user: poison.user });
  const good = () => rig.delivered().filter(({ user }) => user !== poison.user);
  await until(() => good().length === 3 * size - 1, "the events of other users");
  const isOfEvent = "scope" in failure;
  if (isOfEvent) await until(() => rig.delivered().length === 3 * size, "the event behind");
  expect(rig.letters().map(({ n }) => n)).toEqual(isOfEvent ? [poison.n] : []);
  await rig.end();
}

function expectOrder(steps: TestStepName[]): void {
  expect(steps).toEqual(testSteps.filter((step) => steps.includes(step)));
}
