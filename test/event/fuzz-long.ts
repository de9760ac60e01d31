import fc from "fast-check";
import { checkAgreement } from "./agreement.ts";
import { query } from "./queries.ts";

/** `bun test/event/fuzz-long.ts N [seed]`: scanner against reference on N queries. */
const total = Number(process.argv[2] ?? 10_000_000);
const firstSeed = Number(process.argv[3] ?? Date.now() & 0x7fff_ffff);
const ROUND = 100_000;

for (let done = 0; done < total; done += ROUND) {
  const seed = firstSeed + done / ROUND;
  fc.assert(fc.property(query, fc.constantFrom("page", "track"), checkAgreement), {
    numRuns: Math.min(ROUND, total - done),
    seed,
  });
  process.stdout.write(`${Math.min(done + ROUND, total)} queries agree, seed ${seed}\n`);
}
