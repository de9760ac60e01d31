import { expect, test } from "bun:test";
import { LanesBehind } from "../../src/pipeline/lane/lanes-behind.ts";
import { RestingReader } from "../../src/pipeline/reading/resting-reader.ts";
import type { LogSet } from "../../src/pipeline/reading/shared-reader.ts";
import { FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
import { numbersTo, until } from "./rig.ts";

const live = new FakeLive();
live.putDestination("one");
live.connect("one", {}, { sourceId: "mine" });
const [{ connections }] = live.lanes() as [ReturnType<typeof live.lanes>[number]];

/** A lane that rests at a position of the log. */
class RestingLane {
  reader: RestingReader | undefined;

  constructor(
    readonly logs: LogSet,
    readonly from: number,
  ) {
    const known = Object.fromEntries(connections.map(({ id, from: start }) => [id, start]));
    const row = { logs: { "0": { next: from, pending: [] } }, known };
    this.reader = RestingReader.create(logs, connections, row, () => undefined)!;
  }

  get behind(): RestingReader | undefined {
    return this.reader?.isBehind ? this.reader : undefined;
  }

  get position(): number | undefined {
    return this.reader?.record().logs["0"]?.next;
  }
}

/**
 * A log of ten records a read, of sources that are not the lanes', and the positions of its reads.
 */
function rig(length: number) {
  const log = new MemoryLog();
  log.append(...numbersTo(length).map((n) => record(n, "ann", { sourceId: "of another" })));
  const shared = feedOf(log);
  const reads: number[] = [];
  const failing = new Set<number>();
  const logs: LogSet = Object.assign(
    { ...shared },
    {
      async read(_log: string, sequence: number) {
        reads.push(sequence);
        if (failing.has(sequence)) throw new Error("The disk fails");
        const next = Math.min(sequence + 10, log.end());
        const all = (await shared.read("0", sequence))!;
        const inputs = all.inputs.filter((it) => it.sequence >= sequence && it.sequence < next);
        const sources = new Set(inputs.map((it) => it.sourceId));
        return { from: sequence, next, inputs, sources, newerAt: undefined };
      },
    },
  );
  const woken: RestingLane[] = [];
  const lanes = new LanesBehind<RestingLane>(logs, (some) => {
    woken.push(...some);
    for (const lane of some) lane.reader = undefined;
  });
  return { log, logs, reads, failing, woken, lanes };
}

test("each lane has its turn, however far behind another one is", async () => {
  const { log, logs, reads, lanes } = rig(2_000);
  const starts = [0, 1_000, 1_300, 1_600, 1_900];
  const all = starts.map((from) => new RestingLane(logs, from));
  for (const lane of all) lanes.add(lane);
  await until(() => all.every((lane) => lane.behind === undefined));
  expect(all.map(({ position }) => position)).toEqual(starts.map(() => log.end()));
  // Every second turn is of the furthest behind; the others go round.
  expect(reads.slice(0, 10).filter((at) => starts.includes(at))).toEqual(starts);
  // Lanes that have met share their reads: five alone would read the log more than twice.
  expect(reads.length).toBeLessThan(2 * (log.end() / 10));
  await lanes.stop();
});

test("a record that is one lane's wakes this lane alone", async () => {
  const { log, logs, woken, lanes } = rig(50);
  log.append(record(50, "ann", { sourceId: "mine" }));
  const [early, late] = [new RestingLane(logs, 0), new RestingLane(logs, 51)];
  lanes.add(early);
  lanes.add(late);
  await until(() => woken.length > 0);
  expect(woken).toEqual([early]);
  await lanes.stop();
});

test("where a read fails, the lanes at this place try by themselves, and the others go on", async () => {
  const { log, logs, failing, woken, lanes } = rig(100);
  failing.add(20);
  const all = [0, 20, 20, 40].map((from) => new RestingLane(logs, from));
  for (const lane of all) lanes.add(lane);
  await until(() => all.every((lane) => lane.behind === undefined));
  // The first one comes to the place, too.
  expect(new Set(woken)).toEqual(new Set(all.slice(0, 3)));
  expect(all[3]!.position).toBe(log.end());
  await lanes.stop();
});

test("a lane that is behind tells when the last record came that it has passed", () => {
  const { logs } = rig(30);
  const { reader } = new RestingLane(logs, 0);
  expect(reader?.oldestAt).toBeUndefined();
  const input = { sequence: 9, receivedAt: 7_000 } as never;
  const chunk = { from: 0, next: 10, inputs: [input], sources: new Set(["of another"]) };
  expect(reader?.pass("0", { ...chunk, newerAt: undefined })).toBe(true);
  expect(reader?.oldestAt).toBe(7_000);
  expect(reader?.nextBelow(new Map([["0", 10]]))).toBeUndefined();
  expect(reader?.oldestAt).toBeUndefined();
});
