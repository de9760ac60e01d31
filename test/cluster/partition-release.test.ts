import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  assignPartitions,
  type GroupMember,
} from "../../src/cluster/membership/partition-assignment.ts";
import {
  type PartitionAbility,
  PartitionRelease,
} from "../../src/cluster/membership/partition-release.ts";
import { runs } from "../tier.ts";

const SESSION_MS = 10_000;
const TICK_MS = 500;
const ROUNDS_MAX = 6;
const TICKS_OF_SESSION = SESSION_MS / TICK_MS;

interface Node {
  id: string;
  release: PartitionRelease;
  held: number[];
}

/** Partition that a node cannot run, from one tick to another; every partition if absent. */
interface Fault {
  node: number;
  partition?: number | undefined;
  from: number;
  to: number;
}

/** Nodes that share partitions, and observe themselves at each tick. */
class SimulatedCluster {
  readonly nodes: Node[];
  readonly #partitions: number;
  /** Number of partitions that a node has got beside those that it had at the beginning. */
  moves = 0;
  rebalances = 0;
  #generation = 1;

  constructor(count: number, partitions: number) {
    this.#partitions = partitions;
    this.nodes = Array.from({ length: count }, (_, index) => ({
      id: `node-${index}`,
      release: new PartitionRelease(SESSION_MS),
      held: [],
    }));
    this.#rebalance(() => ({ troubles: new Map(), canRun: this.#all() }));
    this.moves = 0;
  }

  tick(faults: readonly Fault[], tick: number): void {
    const abilities = this.nodes.map((_, node) => this.#ability(faults, node, tick));
    for (const [index, { release, held }] of this.nodes.entries()) {
      release.observe(abilities[index]!, held, TICK_MS);
    }
    const isDue = this.nodes.some(({ release, held }) => release.isReportDue(held));
    if (isDue) this.#rebalance((node) => abilities[node]!);
  }

  holderOf(partition: number): number {
    return this.nodes.findIndex(({ held }) => held.includes(partition));
  }

  #ability(faults: readonly Fault[], node: number, tick: number): PartitionAbility {
    const lacked = this.#all().filter((partition) => isFaulty(faults, node, partition, tick));
    return {
      troubles: new Map(lacked.map((partition) => [partition, "A part does not work"])),
      canRun: this.#all().filter((partition) => !lacked.includes(partition)),
    };
  }

  /**
   * Rounds of joins, as the members of a group do, until each runs what it was assigned. A
   * partition that goes to a member without room makes that member give another one away, in two
   * more rounds.
   */
  #rebalance(abilityOf: (node: number) => PartitionAbility): void {
    this.rebalances += 1;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const members = this.nodes.map(({ id, release, held }, index): GroupMember => {
        release.reported();
        const refused = new Set(release.refused().flatMap(({ partitions }) => partitions));
        const canRun = new Set(abilityOf(index).canRun);
        return { id, generation: this.#generation, held, refused, canRun };
      });
      this.#generation += 1;
      const given = assignPartitions(members, this.#partitions);
      for (const node of this.nodes) {
        const own = given.get(node.id)!;
        this.moves += own.filter((partition) => !node.held.includes(partition)).length;
        node.held = own;
      }
    }
    const all = this.nodes.flatMap(({ held }) => held).sort((a, b) => a - b);
    expect(all).toEqual(this.#all());
  }

  #all(): number[] {
    return Array.from({ length: this.#partitions }, (_, partition) => partition);
  }
}

function isFaulty(faults: readonly Fault[], node: number, partition: number, tick: number) {
  return faults.some(
    (fault) =>
      fault.node === node &&
      (fault.partition ?? partition) === partition &&
      fault.from <= tick &&
      tick < fault.to,
  );
}

const TICKS = 400;
const sizes = {
  count: fc.integer({ min: 2, max: 5 }),
  partitions: fc.integer({ min: 1, max: 12 }),
};
const span = fc
  .tuple(fc.integer({ min: 0, max: TICKS }), fc.integer({ min: 1, max: TICKS }))
  .map(([from, ticks]) => ({ from, to: from + ticks }));

describe("nodes whose parts fail at random", () => {
  const cases = fc.record(sizes).chain(({ count, partitions }) => {
    // The last node is always well.
    const node = fc.integer({ min: 0, max: count - 2 });
    const partition = fc.option(fc.integer({ min: 0, max: partitions - 1 }), { nil: undefined });
    const fault = fc
      .tuple(node, partition, span)
      .map(([node, partition, { from, to }]): Fault => ({ node, partition, from, to }));
    return fc.array(fault, { maxLength: 8 }).map((faults) => ({ count, partitions, faults }));
  });

  test("leave no partition without a well owner for longer than two sessions", () => {
    fc.assert(
      fc.property(cases, ({ count, partitions, faults }) => {
        const cluster = new SimulatedCluster(count, partitions);
        const unwell = new Map<number, number>();
        for (let tick = 0; tick < TICKS; tick++) {
          cluster.tick(faults, tick);
          for (let partition = 0; partition < partitions; partition++) {
            const holder = cluster.holderOf(partition);
            const isUnwell = isFaulty(faults, holder, partition, tick);
            unwell.set(partition, isUnwell ? (unwell.get(partition) ?? 0) + 1 : 0);
          }
          // One rebalance moves half of the partitions at most.
          expect(Math.max(...unwell.values())).toBeLessThanOrEqual(2 * TICKS_OF_SESSION + 2);
        }
      }),
      { numRuns: runs(25, 2_000) },
    );
  });

  test("divide the partitions evenly a long time after the last fault", () => {
    fc.assert(
      fc.property(cases, ({ count, partitions, faults }) => {
        const cluster = new SimulatedCluster(count, partitions);
        const longest = 2 * TICKS + 33 * TICKS_OF_SESSION;
        for (let tick = 0; tick < longest; tick++) cluster.tick(faults, tick);
        const counts = cluster.nodes.map(({ held }) => held.length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        const { rebalances } = cluster;
        for (let tick = longest; tick < 2 * longest; tick++) cluster.tick(faults, tick);
        expect(cluster.rebalances).toBe(rebalances);
      }),
      { numRuns: runs(20, 200) },
    );
  });
});

test("a fault that all nodes see moves nothing", () => {
  const cases = fc.record({ ...sizes, span, late: fc.array(fc.nat(4), { minLength: 5 }) });
  fc.assert(
    fc.property(cases, ({ count, partitions, span: { from, to }, late }) => {
      const cluster = new SimulatedCluster(count, partitions);
      const faults = cluster.nodes.map((_, node) => {
        return { node, from: from + late[node]!, to: to + late[node]! };
      });
      for (let tick = 0; tick < TICKS; tick++) cluster.tick(faults, tick);
      expect(cluster.moves).toBe(0);
    }),
    { numRuns: runs(30, 500) },
  );
});

test("troubles that are shorter than a session do not make the nodes join again and again", () => {
  const cluster = new SimulatedCluster(4, 8);
  // Node 0 refuses its partitions, so all join; at any time one of the others has trouble.
  const faults: Fault[] = [{ node: 0, from: 0, to: TICKS_OF_SESSION + 2 }];
  for (const node of [1, 2, 3]) {
    for (let from = 2 * node - 1; from < TICKS; from += 6)
      faults.push({ node, from, to: from + 3 });
  }
  for (let tick = 0; tick < TICKS; tick++) cluster.tick(faults, tick);
  expect(cluster.rebalances).toBeLessThanOrEqual(4);
});

test("a node that is well and unwell in turns gets its partitions back less and less often", () => {
  const cluster = new SimulatedCluster(3, 6);
  const period = 2 * TICKS_OF_SESSION + 4;
  const periods = 100;
  const faults = Array.from({ length: periods }, (_, index) => {
    return { node: 0, from: index * period, to: index * period + TICKS_OF_SESSION + 2 };
  });
  for (let tick = 0; tick < periods * period; tick++) cluster.tick(faults, tick);
  // Two partitions leave the node and come back.
  expect(cluster.moves).toBeLessThanOrEqual(12);
});

test("a process that was suspended refuses no partition because of its pause", () => {
  const release = new PartitionRelease(SESSION_MS);
  const ability = { troubles: new Map([[0, "A part does not work"]]), canRun: [] };
  release.observe(ability, [0], 60_000);
  expect(release.refused()).toEqual([]);
});

test("a partition that a node has reported to refuse stops without its work, also when the trouble ends for a moment", () => {
  const release = new PartitionRelease(SESSION_MS);
  const full: PartitionAbility = { troubles: new Map([[0, "The disk is full"]]), canRun: [1] };
  const well: PartitionAbility = { troubles: new Map(), canRun: [0, 1] };
  for (let tick = 0; tick < TICKS_OF_SESSION; tick++) release.observe(full, [0, 1], TICK_MS);
  expect([...release.abandonedNumbers()]).toEqual([0]);
  release.reported();
  release.observe(well, [0, 1], TICK_MS);
  expect([...release.refusedNumbers()]).toEqual([]);
  expect([...release.abandonedNumbers()]).toEqual([0]);
  // The others have heard that it can run the partition again.
  release.reported();
  expect([...release.abandonedNumbers()]).toEqual([]);
});

/** A release that observes partition 0, second by second: with trouble, well, or neither. */
function observed() {
  const release = new PartitionRelease(SESSION_MS);
  const abilities: Record<string, PartitionAbility> = {
    trouble: { troubles: new Map([[0, "A part does not work"]]), canRun: [] },
    well: { troubles: new Map(), canRun: [0] },
    unknown: { troubles: new Map(), canRun: [1] },
  };
  /** Seconds in this state until the partition is refused, or no longer; at most `secondsMax`. */
  const until = (isRefused: boolean, state: keyof typeof abilities, secondsMax = 1_000) => {
    for (let second = 1; second <= secondsMax; second++) {
      release.observe(abilities[state]!, [], 1_000);
      if (release.refusedNumbers().has(0) === isRefused) return second;
    }
    return undefined;
  };
  const pass = (state: keyof typeof abilities, seconds: number, held: number[] = []) => {
    for (let n = 0; n < seconds; n++) release.observe(abilities[state]!, held, 1_000);
  };
  return { release, until, pass };
}

test("a partition is refused after a session of trouble, from which seconds without trouble are taken", () => {
  expect(observed().until(true, "trouble")).toBe(10);
  const { until, pass } = observed();
  pass("trouble", 9);
  pass("unknown", 5);
  expect(until(true, "trouble")).toBe(6);
  const later = observed();
  later.pass("trouble", 5);
  later.pass("well", 60);
  expect(later.until(true, "trouble")).toBe(10);
});

test("a refused partition is accepted after one session, two, four, at most 32, in which it could run", () => {
  const { until, pass } = observed();
  for (const seconds of [10, 20, 40, 80, 160]) {
    expect(until(true, "trouble")).toBeLessThanOrEqual(10);
    expect(until(false, "unknown", 500)).toBeUndefined();
    pass("well", 5);
    // The time in which it can run is without interruption.
    pass("unknown", 1);
    expect(until(false, "well")).toBe(seconds);
  }
  for (let n = 0; n < 4; n++) {
    until(true, "trouble");
    // Its node still runs it, and has no trouble for a second.
    pass("unknown", 1, [0]);
  }
  until(true, "trouble");
  expect(until(false, "well")).toBe(320);
  // After 32 sessions without trouble, its refusals are forgotten.
  until(true, "trouble");
  expect(until(false, "well")).toBe(10);
});

test("a partition that its node still runs is accepted as soon as its trouble ends", () => {
  const { release, pass } = observed();
  pass("trouble", 10, [0]);
  expect([...release.refusedNumbers()]).toEqual([0]);
  pass("unknown", 1, [0]);
  expect([...release.refusedNumbers()]).toEqual([]);
});

test("refused partitions are named by reason, in ascending order", () => {
  const release = new PartitionRelease(1_000);
  const troubles = new Map([
    [10, "disk"],
    [9, "disk"],
    [1, "broker"],
  ]);
  release.observe({ troubles, canRun: [] }, [], 1_000);
  expect(release.refused()).toEqual([
    { reason: "disk", partitions: [9, 10] },
    { reason: "broker", partitions: [1] },
  ]);
});

test("a refusal of a held partition is reported at once, and again after a session while it is held", () => {
  const { release, pass } = observed();
  pass("trouble", 9, [0]);
  expect(release.isReportDue([0])).toBe(false);
  pass("trouble", 1, [0]);
  expect([release.isReportDue([0]), release.isReportDue([1])]).toEqual([true, false]);
  release.reported();
  expect(release.isReportDue([0])).toBe(false);
  pass("trouble", 9, [0]);
  expect(release.isReportDue([0])).toBe(false);
  pass("trouble", 1, [0]);
  expect([release.isReportDue([0]), release.isReportDue([])]).toEqual([true, false]);
});

test("a partition that was reported with trouble is reported again after a session in which it could run", () => {
  const { release, pass } = observed();
  pass("trouble", 3);
  release.reported();
  pass("well", 9);
  expect(release.isReportDue([])).toBe(false);
  pass("unknown", 1);
  pass("well", 9);
  expect(release.isReportDue([])).toBe(false);
  pass("well", 1);
  expect(release.isReportDue([])).toBe(true);
  release.reported();
  pass("well", 20);
  expect(release.isReportDue([])).toBe(false);
});
