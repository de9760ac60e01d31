import { describe, expect, test } from "bun:test";
import { noLogs } from "../../../src/sandbox/batch/batch-logs.ts";
import { BatchRun } from "../../../src/sandbox/batch/batch-run.ts";
import { runBatch } from "../../../src/sandbox/batch/run-batch.ts";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import { type GuestEndCause, GuestEndedError } from "../../../src/sandbox/process/guest-end.ts";
import type { GuestSource } from "../../../src/sandbox/process/guest-source.ts";
import { OPEN } from "../../../src/sandbox/protocol/guest-protocol.ts";
import { GUEST_CPU_MS_MAX, GUEST_CULPRITS_MAX } from "../../../src/settings/limits.ts";
import { batch, program, shown } from "../support.ts";
import { ENDLESS, type SimulatedEvent, SimulatedGuests } from "./simulated-guests.ts";

/** How a batch takes the replies of its guests, and their ends. */

const TIMED_OUT = "Script execution timed out.";
const good = (n: number, cpuMs = 0.1): SimulatedEvent => ({ n, cpuMs });
const ending = (n: number, ends: GuestEndCause): SimulatedEvent => ({ ...good(n), ends });

async function run(
  source: GuestSource,
  events: readonly SimulatedEvent[],
  { culpritsMax = GUEST_CULPRITS_MAX, costlyUntil = Number.POSITIVE_INFINITY } = {},
) {
  const one = new BatchRun(
    program(""),
    { ...batch(...events), costlyUntil },
    {
      ...{ limits: defaultLimits, logs: noLogs, culpritsMax, bytesMax: 1 << 20 },
      hostFunctions: {},
    },
  );
  await runBatch(source, one);
  return { hasCostGuest: one.hasCostGuest, result: one.finish() };
}

describe("a batch of good events", () => {
  test("costs no guest, and counts its CPU time, its bytes and its events", async () => {
    const guests = new SimulatedGuests();
    guests.loadMs = 7;
    const { result, hasCostGuest } = await run(guests, [good(0, 5), good(1, 5), good(2, 5)]);
    expect(result).toMatchObject({ cpuMs: 22, culprits: [], isDoubtful: false, logs: [] });
    expect(result.bytes).toBe(3 * ('{"n":0}'.length + 200));
    expect([hasCostGuest, guests.guest().eventCount, guests.guest().softTimeouts]).toEqual([
      ...[false, 3, 0],
    ]);
  });

  test("that is loaded on a busy machine has cost its guest", async () => {
    const guests = new SimulatedGuests(0.5);
    guests.loadMs = 0.9 * GUEST_CPU_MS_MAX;
    const { result, hasCostGuest } = await run(guests, [good(0)]);
    expect([shown(result.outcomes), hasCostGuest]).toEqual([[[{ n: 0 }]], true]);
  });
});

test("code is loaded with the whole time again after an event that had a short one", async () => {
  const guests = new SimulatedGuests();
  guests.loadMs = GUEST_CPU_MS_MAX / 2;
  const { result } = await run(guests, [good(0, ENDLESS), good(1)], { culpritsMax: 0 });
  expect(shown(result.outcomes)).toEqual([TIMED_OUT, [{ n: 1 }]]);
  expect(guests.loads).toHaveLength(2);
});

test("events for which the machine has no time count among the costly ones of a batch", async () => {
  const events = Array.from({ length: GUEST_CULPRITS_MAX + 2 }, (_, n) => {
    return good(n, GUEST_CPU_MS_MAX / 2);
  });
  const { result } = await run(new SimulatedGuests(0.001), events, { costlyUntil: 0 });
  const notRun = `Not run: ${GUEST_CULPRITS_MAX} other events of the request were stopped`;
  expect(shown(result.outcomes)).toEqual([
    ...Array(GUEST_CULPRITS_MAX).fill(TIMED_OUT),
    ...[notRun, notRun],
  ]);
  expect([result.culprits, result.isDoubtful]).toEqual([[], true]);
});

describe("an event that ends its guest", () => {
  test("is blamed for the second one if the first one also had another batch in progress", async () => {
    const guests = new SimulatedGuests();
    Object.assign(guests.guest(), { busy: true });
    const { result, hasCostGuest } = await run(guests, [ending(0, "memory")]);
    expect([result.culprits, guests.starts, hasCostGuest]).toEqual([["memory"], 2, true]);
  });

  test("is blamed for its own time, not for that in which its program was loaded", async () => {
    const guests = new SimulatedGuests();
    guests.loadMs = GUEST_CPU_MS_MAX / 2;
    const { result } = await run(guests, [ending(0, "timeout")]);
    expect([result.culprits, result.isDoubtful]).toEqual([["timeout"], false]);
  });

  test("beside another program is blamed after four guests, also the second one of a batch", async () => {
    const guests = new SimulatedGuests();
    guests.isShared = true;
    const { result } = await run(guests, [ending(0, "crash"), ending(1, "crash")]);
    expect([result.culprits, guests.starts]).toEqual([["crash", "crash"], 8]);
  });

  test.each([
    // The system may have killed the first one.
    ["crash", 3],
    ["memory", 2],
  ] as const)(
    "by %s after its batch failed as a whole is blamed for guest number %d",
    async (ends, starts) => {
      const guests = new SimulatedGuests();
      guests.batchError = "none of them";
      const { result } = await run(guests, [good(0), ending(1, ends), good(2)]);
      expect(shown(result.outcomes)).toEqual([
        ...[[{ n: 0 }], expect.stringMatching(/^Script (crashed|was stopped)/), [{ n: 2 }]],
      ]);
      expect([result.culprits, guests.starts]).toEqual([[ends], starts]);
    },
  );
});

/** Replies to runs that are no simulated ones, and the number of events of each run. */
function replying(...replies: { counts?: number[]; [field: string]: unknown }[]) {
  const guests = new SimulatedGuests();
  const one = guests.guest();
  const { request } = one;
  const counts: number[] = [];
  one.request = (async (...[header, body, limits, parse]: Parameters<typeof request>) => {
    if (header.kind !== "run") return request(header, body, limits, parse);
    counts.push(header.count);
    const reply = replies.shift();
    if (reply === undefined) return request(header, body, limits, parse);
    if (reply instanceof Error) throw reply;
    const outputs = (reply.counts ?? []).filter((count) => count === 1).map(() => "{}");
    const frame = { header: { kind: "ran", errors: [], logs: [], ...reply } };
    return parse({ ...frame, body: Buffer.from(outputs.join("\n")) } as never);
  }) as typeof request;
  return { guests, counts };
}

describe("a run that stops because its reply is full", () => {
  const full = { reason: "full" };

  test("is followed by one of its other events", async () => {
    const { guests, counts } = replying({ counts: [1, OPEN, OPEN], stopped: full });
    const { result, hasCostGuest } = await run(guests, [good(0), good(1), good(2)]);
    expect(shown(result.outcomes)).toEqual([[{}], [{ n: 1 }], [{ n: 2 }]]);
    expect([counts, hasCostGuest]).toEqual([[3, 2], false]);
  });

  test("without any outcome is followed by runs of one event each", async () => {
    const { guests, counts } = replying({ counts: [OPEN, OPEN, OPEN], stopped: full });
    const { result } = await run(guests, [good(0), good(1), good(2)]);
    expect(shown(result.outcomes)).toEqual([[{ n: 0 }], [{ n: 1 }], [{ n: 2 }]]);
    expect(counts).toEqual([3, 1, 1, 1]);
  });
});

test("a program that a guest cannot load again for a run fails, and is loaded by the next batch", async () => {
  const { guests, counts } = replying({ kind: "loaded", error: { message: "no" } });
  const { result } = await run(guests, [good(0), good(1)]);
  expect(result.error).toEqual({ message: "no" });
  expect([shown(result.outcomes), counts]).toEqual([["no", "no"], [2]]);
  const { programs, unloadedPrograms } = guests.guest();
  expect([programs.size, unloadedPrograms]).toEqual([0, [1]]);
});

test("a defect of the server while a batch runs blames nothing, and ends the run", async () => {
  const { guests } = replying(new TypeError("a defect") as never);
  await expect(run(guests, [good(0)])).rejects.toThrow("a defect");
});

/** Guests that end for these causes instead of answering requests of a kind, and their number. */
function endingAt(kind: "load" | "inspect", ends: GuestEndCause[]) {
  const guests = new SimulatedGuests();
  const given = guests.guest.bind(guests);
  const { request } = given();
  let asked = 0;
  const guest = () => {
    const one = given();
    one.request = ((...[header, ...more]: Parameters<typeof request>) => {
      const end = header.kind === kind && ++asked > 0 ? ends.shift() : undefined;
      if (end !== undefined) return Promise.reject(new GuestEndedError(end));
      return request(header, ...more);
    }) as typeof request;
    return one;
  };
  return Object.assign(guests, { guest, asked: () => asked });
}

test.each([
  ["memory", "at its memory limit", 1],
  // The system may have killed the first one.
  ["crash", "crashed", 2],
] as const)(
  "code that ends its guest while it is loaded, by %s, fails (%s) after %d loads",
  async (end, message, loads) => {
    const guests = endingAt("load", Array(9).fill(end));
    const { result } = await run(guests, [good(0), good(1)]);
    expect(result.error?.message).toContain(message);
    expect(shown(result.outcomes)).toEqual(Array(2).fill(result.error!.message));
    expect([guests.asked(), result.culprits, result.isDoubtful]).toEqual([loads, [end], false]);
  },
);

test("code is loaded again if its guest ended for a reason of the server", async () => {
  const guests = endingAt("load", ["retired", "retired", "retired"]);
  const { result } = await run(guests, [good(0), good(1)]);
  expect(shown(result.outcomes)).toEqual([[{ n: 0 }], [{ n: 1 }]]);
  expect([guests.asked(), result.culprits]).toEqual([4, []]);
});

test("a guest is asked for a sign of life after the loss of another one, and its silence is no loss", async () => {
  const guests = endingAt("inspect", ["memory", "crash"]);
  const { result } = await run(guests, [ending(0, "crash")]);
  expect(shown(result.outcomes)).toEqual([expect.stringContaining("crashed")]);
  expect([guests.asked(), guests.runs.length, result.culprits]).toEqual([3, 2, ["crash"]]);
});
