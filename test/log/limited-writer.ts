/**
 * Appends until enough appends failed, and tells what happened: a child of failing-disk.test.ts.
 */

import { openTextWriter } from "./support.ts";

export interface Outcome {
  acknowledged: string[];
  refused: string[];
  healthy: boolean;
  durable: number;
}

/** Enough at once that the disk takes them beside the event loop: meanwhile others are appended. */
const AT_ONCE = 100;

const writer = await openTextWriter(process.argv[2]!);
const outcome: Outcome = { acknowledged: [], refused: [], healthy: false, durable: 0 };

async function append(round: number): Promise<void> {
  const texts = Array.from({ length: AT_ONCE }, (_, j) => `${round}.${j} `.padEnd(3000, "x"));
  const settled = await Promise.allSettled(texts.map((text) => writer.append(text)));
  for (const [j, { status }] of settled.entries()) {
    outcome[status === "fulfilled" ? "acknowledged" : "refused"].push(texts[j]!);
  }
}

/** Two rounds are in progress, so that one waits while the other is written. */
const underWay: Promise<void>[] = [];
for (let i = 0; outcome.refused.length < 10 * AT_ONCE || !writer.healthy(); i++) {
  underWay.push(append(i));
  // Several turns of the event loop: by then it is being written.
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
  if (underWay.length > 1) await underWay.shift();
  if (!writer.healthy()) await Bun.sleep(5);
}
await Promise.all(underWay);
outcome.healthy = writer.healthy();
outcome.durable = writer.durable();
await writer.close();
process.stdout.write(JSON.stringify(outcome));
