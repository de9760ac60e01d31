import { expect, test } from "bun:test";
import { runs } from "../tier.ts";
import { dataWithSource, load, startIngest, until, usersIn } from "./ingest-support.ts";

const ROUNDS = runs(6, 30);

test(`${ROUNDS} kills under load lose no pixel that was answered 200, and invent none`, async () => {
  const { data, writeKey } = await dataWithSource();
  let position = 0;
  let keptUnanswered = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const pixels = await killUnderLoad(data, writeKey);
    // A later start recovers the log; what it finds is judged.
    await using ingest = await startIngest(data);
    const reader = ingest.readers.get("0")!;
    const users = await usersIn(reader, position);
    position = reader.end();
    expect(new Set(users).size).toBe(users.length);
    const found = new Set(users);
    expect([...pixels.acknowledged].filter((user) => !found.has(user))).toEqual([]);
    expect(users.filter((user) => !pixels.sent.has(user))).toEqual([]);
    // A round without answers, or without requests that the kill cut off, would prove nothing.
    expect(pixels.acknowledged.size).toBeGreaterThan(0);
    expect(pixels.sent.size).toBeGreaterThan(pixels.acknowledged.size);
    keptUnanswered += users.length - pixels.acknowledged.size;
  }
  expect(keptUnanswered).toBeGreaterThan(0);
}, 900_000);

async function killUnderLoad(data: string, writeKey: string) {
  await using ingest = await startIngest(data);
  const pixels = load(ingest.url, writeKey, 16);
  await until(() => pixels.acknowledged.size > 20);
  await Bun.sleep(Math.random() * 100);
  process.kill(ingest.pids()[0]!, "SIGKILL");
  await until(() => pixels.failures() > 0);
  await pixels.stop();
  return pixels;
}
