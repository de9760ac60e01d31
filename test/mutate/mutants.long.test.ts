import { expect, test } from "bun:test";
import { join } from "node:path";
import { equivalents } from "./equivalent.ts";
import { mutate, row } from "./mutate.ts";

/** Folders with fast tests without counterparts; each day has another sample of mutants. */
const ROOMS = ["concurrency", "egress", "event", "http", "log", "store"];
const ROOMS_PER_RUN = 2;
const MUTANTS_PER_ROOM = 16;
const MINUTES_PER_ROOM = 4;
/** Lower bound of killed mutants in a small sample; the tests kill at least 85 % of all mutants. */
const KILLED_MIN = 0.6;

test("the quick tier kills most mutants of a daily sample", async () => {
  const day = Math.floor(Date.now() / 86_400_000);
  const rows: ReturnType<typeof row>[] = [];
  for (let n = 0; n < ROOMS_PER_RUN; n++) {
    const folder = ROOMS[(day * ROOMS_PER_RUN + n) % ROOMS.length]!;
    const report = await mutate({
      root: join(import.meta.dir, "../.."),
      folder,
      sample: MUTANTS_PER_ROOM,
      seed: day,
      only: [],
      minutes: MINUTES_PER_ROOM,
      jobs: 1,
      equivalents,
      say: (line) => process.stdout.write(`${line}\n`),
    });
    rows.push(row(report));
  }
  process.stdout.write(`${Bun.inspect.table(rows, { colors: false })}\n`);
  const sum = (key: string) => rows.reduce((total, one) => total + Number(one[key]), 0);
  const [killed, survived] = [sum("killed"), sum("survived")];
  expect(killed + survived).toBeGreaterThan(0);
  expect(killed / (killed + survived)).toBeGreaterThan(KILLED_MIN);
}, 1_800_000);
