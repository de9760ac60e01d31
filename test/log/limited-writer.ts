/** Appends until enough appends failed, and tells what happened: a child of failing-disk.test.ts. */

import { openTextWriter } from "./support.ts";

export interface Outcome {
  acknowledged: string[];
  refused: string[];
  healthy: boolean;
  durable: number;
}

const writer = await openTextWriter(process.argv[2]!);
const outcome: Outcome = { acknowledged: [], refused: [], healthy: false, durable: 0 };
for (let i = 0; outcome.refused.length < 50 || !writer.healthy(); i++) {
  const texts = Array.from({ length: 10 }, (_, j) => `${i}.${j} `.padEnd(3000, "x"));
  const settled = await Promise.allSettled(texts.map((text) => writer.append(text)));
  for (const [j, { status }] of settled.entries()) {
    outcome[status === "fulfilled" ? "acknowledged" : "refused"].push(texts[j]!);
  }
  if (!writer.healthy()) await Bun.sleep(5);
}
outcome.healthy = writer.healthy();
outcome.durable = writer.durable();
await writer.close();
process.stdout.write(JSON.stringify(outcome));
