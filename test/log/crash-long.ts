/** Many crash rounds: `bun test/log/crash-long.ts ROUNDS`. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crashRounds, refuseVacuous, type Tally } from "./crash.ts";

const CHUNK_ROUNDS = 50;

const rounds = Number(process.argv[2] ?? 500);
if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write(`Expected a number of rounds, got "${process.argv[2]}"\n`);
  process.exit(2);
}
const root = mkdtempSync(join(tmpdir(), "pixelmill-crash-"));
const sum: Tally = { rounds: 0, acknowledged: 0, kept: 0, gone: 0, cutTails: 0, rolled: 0 };
for (let done = 0; done < rounds; done += CHUNK_ROUNDS) {
  const tally = await crashRounds(join(root, `${done}`), Math.min(CHUNK_ROUNDS, rounds - done));
  for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += tally[key];
  process.stdout.write(`${JSON.stringify(sum)}\n`);
}
refuseVacuous(sum);
rmSync(root, { recursive: true });
