import { expect, test } from "bun:test";
import { join } from "node:path";
import { equivalents } from "./equivalent.ts";
import { mutate, row } from "./mutate.ts";

/**
 * Folders with fast tests without counterparts; each day has another folder and sample of mutants.
 */
const ROOMS = ["concurrency", "egress", "event", "http", "log", "store"];
const MUTANTS = 20;
const MINUTES_MAX = 4;
/** Lower bound of killed mutants in a small sample; the tests kill at least 85 % of all mutants. */
const KILLED_MIN = 0.6;

test("the quick tier kills most mutants of a daily sample", async () => {
  const day = Math.floor(Date.now() / 86_400_000);
  const folder = ROOMS[day % ROOMS.length]!;
  const { fates } = await mutate({
    root: join(import.meta.dir, "../.."),
    folders: [folder],
    sample: MUTANTS,
    seed: day,
    only: [],
    minutes: MINUTES_MAX,
    jobs: 1,
    equivalents,
    say: (line) => process.stdout.write(`${line}\n`),
  });
  const report = row(folder, [...fates.values()]);
  process.stdout.write(`${Bun.inspect.table([report], { colors: false })}\n`);
  const [killed, survived] = [Number(report.killed), Number(report.survived)];
  expect(killed + survived).toBeGreaterThan(0);
  expect(killed / (killed + survived)).toBeGreaterThan(KILLED_MIN);
}, 1_800_000);
