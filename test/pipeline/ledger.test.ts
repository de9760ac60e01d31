import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import type { LaneChange } from "../../src/pipeline/ledger/ledger.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX } from "../../src/pipeline/ledger/letter-tables.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { fail } from "./doubles.ts";
import { numbersTo, until } from "./rig.ts";

const directory = mkdtempSync(join(tmpdir(), "ledger-"));
const ledger = openLedger(directory, pino({ level: "silent" }));
afterAll(async () => {
  await ledger.close();
  rmSync(directory, { recursive: true });
});

const ids = numbersTo(9).map((n) => `letter-${n}`);

/** Nine letters, four of which fill a page. */
function largeLetters(): StoredLetter[] {
  const text = JSON.stringify("x".repeat(DEAD_LETTERS_PAGE_CHARS_MAX / 4));
  return ids.map((id) => ({
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: id, text },
    ...{ stage: "deliver", reason: "", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: 0 },
  }));
}

test("large dead letters come in shorter pages, and their replays in smaller batches", async () => {
  const deadLetters = new DeadLetters(
    () => [ledger],
    () => {},
    () => 0,
  );
  const letters = largeLetters();
  const change = {
    destinationId: "d",
    record: { logs: {}, known: {} },
    deadLetters: letters,
    settledRequeued: [],
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  ledger.schedule({ collect: () => change, committed: () => resolve(), fail });
  await promise;

  for (const filter of [{}, { destinationId: "d" }]) {
    const pages: string[][] = [];
    for (let after = ""; pages.at(-1)?.length !== 0; after = pages.at(-1)!.at(-1) ?? "") {
      const page = deadLetters.find("w", { ...filter, after, count: 100 }).letters;
      pages.push(page.map(({ id }) => id));
    }
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 1, 0]);
    expect(pages.flat()).toEqual(ids);
  }
  expect(deadLetters.find("w", { count: 2 }).letters.length).toBe(2);

  expect(await deadLetters.replay("w", ids)).toEqual({ replayed: 9 });
  const lot = ledger.waitingLetters("d", new Set(), 100, {
    charsMax: DEAD_LETTERS_PAGE_CHARS_MAX / 2,
  });
  expect(lot.map(({ letter }) => letter.id)).toEqual(ids.slice(0, 2));
  expect(ledger.waitingLetters("d", new Set(ids.slice(0, 2)), 100).length).toBe(7);
});

test("a ledger that could not write dead letters writes no later cursor when it closes", async () => {
  const path = join(directory, "refusing");
  const logger = pino({ level: "silent" });
  const refusing = openLedger(path, logger);
  let refused = 0;
  const common = { destinationId: "d", settledRequeued: [] };
  const first: LaneChange = {
    ...{ ...common, record: { logs: { "0": { next: 5, pending: [] } }, known: {} } },
    get deadLetters(): never {
      refused += 1;
      throw new Error("No space left on device");
    },
  };
  const later = { ...common, record: { logs: { "0": { next: 9, pending: [] } }, known: {} } };
  refusing.schedule({ collect: () => first, committed: () => {}, fail });
  await until(() => refused > 0);
  refusing.schedule({ collect: () => ({ ...later, deadLetters: [] }), committed: () => {}, fail });
  await refusing.close();

  const again = openLedger(path, logger);
  expect(again.lane("d")).toBeUndefined();
  await again.close();
});

test("a lane that cannot read the ledger after an LMDB failure is collected again", async () => {
  const change = {
    destinationId: "x",
    record: { logs: {}, known: {} },
    deadLetters: [],
    settledRequeued: [],
  };
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const collect = () => {
    asked += 1;
    if (asked === 1) throw Object.assign(new Error("MDB_PANIC"), { code: -30_795 });
    return change;
  };
  ledger.schedule({ collect, committed: () => resolve(), fail });
  await promise;
  expect(asked).toBe(2);
});
