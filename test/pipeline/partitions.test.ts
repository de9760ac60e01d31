import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { pino } from "pino";
import { createMetrics } from "../../src/observe/metrics.ts";
import { createDeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import { mergeDeadLetters } from "../../src/pipeline/dead-letters/merge-dead-letters.ts";
import { type Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { firstIdAt } from "../../src/pipeline/ledger/letter-keys.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { createPipelineHost } from "../../src/pipeline/pipeline.ts";
import { commitLetters, decode, eventOf, MemoryLog, record } from "./doubles.ts";
import { Rig, sorted, until } from "./rig.ts";

const logger = pino({ level: "silent" });
let directories: string[] = [];
afterEach(async () => {
  for (const directory of directories) rmSync(directory, { recursive: true });
  directories = [];
});

function ledgerOf(): Ledger {
  const directory = mkdtempSync(join(tmpdir(), "lines-"));
  directories.push(directory);
  return openLedger(directory, logger);
}

/** Partitions over the logs `a` and `b`, each with a ledger, and one webhook for their events. */
function twoLines() {
  const rig = new Rig();
  const sink = rig.webhook("d");
  const logs = ["a", "b"].map((name) => new MemoryLog(name));
  const ledgers = logs.map(() => ledgerOf());
  const lines = createPipelineHost({
    ...{ live: rig.live, sandbox: rig.sandbox, kinds: rig.kinds, decode, eventOf, logger },
    ledgers: () => ledgers,
    readers: new Map(logs.map((log) => [log.name, log])),
    onDurable(listener) {
      const ends = logs.map((log) => log.onDurable(listener));
      return () => {
        for (const end of ends) end();
      };
    },
    retryWindowMs: 3_600_000,
    metrics: createMetrics(),
  });
  const open = (at: 0 | 1) => lines.open(ledgers[at]!, new Map([[logs[at]!.name, logs[at]!]]));
  const end = async () => {
    await lines.close();
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await rig.end();
  };
  return { sink, lines, open, end, ledgers, a: logs[0]!, b: logs[1]! };
}

test("a partition delivers the events of its own logs, and stops when it closes", async () => {
  const { sink, lines, open, end, a, b } = twoLines();
  const first = open(0);
  a.append(record(1));
  b.append(record(2));
  await until(() => sink.taken.length === 1);
  expect(sink.numbers()).toEqual([1]);
  const second = open(1);
  await until(() => sink.taken.length === 2);
  await first.close();
  a.append(record(3));
  b.append(record(4));
  await until(() => sink.taken.length === 3);
  expect(sink.numbers()).toEqual([1, 2, 4]);
  await until(() => lines.status("d")?.lagEvents === 0);
  await second.close();
  expect(lines.status("d")).toBeUndefined();
  open(0);
  await until(() => sink.taken.length === 4);
  expect(sorted(sink.numbers())).toEqual([1, 2, 3, 4]);
  await end();
});

function letter(n: number, chars: number): StoredLetter {
  return {
    ...{ id: Bun.randomUUIDv7("hex", n * 1_000), workspaceId: "w", destinationId: `d${n % 3}` },
    ...{ sourceId: "s", messageId: "m", text: JSON.stringify("x".repeat(chars)) },
    ...{ stage: "deliver", reason: `reason ${n % 2}`, attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: n * 1_000 },
  };
}

test("the dead letters of several ledgers are listed as those of one", async () => {
  const huge = 3 << 20;
  const shapes = fc.array(fc.record({ at: fc.nat(2), huge: fc.integer({ min: 0, max: 19 }) }), {
    maxLength: 25,
  });
  await fc.assert(
    fc.asyncProperty(shapes, fc.integer({ min: 1, max: 7 }), async (shape, count) => {
      const all = [0, 1, 2, 3].map(() => ledgerOf());
      const [one, ...several] = all;
      const letters = shape.map((it, n) => letter(n + 1, it.huge === 0 ? huge : 10));
      await commitLetters(one!, letters);
      for (const [at, ledger] of several.entries()) {
        await commitLetters(
          ledger,
          letters.filter((_, n) => shape[n]!.at === at),
        );
      }
      const look = (ledger: Ledger) => createDeadLetters(ledger, () => {}, Date.now);
      const [expected, found] = [look(one!), mergeDeadLetters(() => several.map(look))];
      const pages = (from: typeof found) => {
        const ids: string[] = [];
        for (;;) {
          const after = ids.at(-1) ?? "";
          const page = from.find("w", { after, count }).letters;
          if (page.length === 0) return ids;
          expect(page.length).toBeLessThanOrEqual(count);
          ids.push(...page.map(({ id }) => id));
        }
      };
      expect(pages(found)).toEqual(pages(expected));
      expect(found.count("w")).toBe(letters.length);
      expect(found.groups("w")).toEqual(expected.groups("w"));
      const part = { after: "", before: firstIdAt(20_000), count };
      expect(found.ids("w", {}, part).ids).toEqual(expected.ids("w", {}, part).ids);
      const ids = letters.filter((_, n) => n % 2 === 0).map(({ id }) => id);
      for (const id of ids) expect(found.get("w", id)).toEqual(expected.get("w", id));
      expect(await found.purge("w", ids)).toEqual({ purged: ids.length });
      expect(found.count("w")).toBe(letters.length - ids.length);
      await Promise.all(all.map((ledger) => ledger.close()));
    }),
    { numRuns: 15 },
  );
}, 300_000);

test("a replay of dead letters keeps to its rate over all ledgers together", async () => {
  const { lines, end, ledgers } = twoLines();
  await commitLetters(
    ledgers[0]!,
    [1, 2, 3].map((n) => letter(n, 10)),
  );
  await commitLetters(ledgers[1]!, [letter(4, 10)]);
  const asked = { kind: "dead-letters" as const, filter: {}, rate: 8 };
  const job = await lines.replays.startLetters("w", asked);
  const rates = ledgers.map((ledger) => ledger.jobs.get("w", job.id)!.rate);
  expect(rates).toEqual([6, 2]);
  expect(lines.replays.get("w", job.id)).toMatchObject({ rate: 8, total: 4 });
  await end();
});
