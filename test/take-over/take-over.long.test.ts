import { expect, test } from "bun:test";
import { pixelmillCommand } from "../e2e/command.ts";
import { takeOvers } from "./take-over.ts";

/** A short form of `npm run take-over`. */
test("servers that take over from each other refuse, lose, double and reorder no event", async () => {
  const { acknowledged, slowestMs, ...faults } = await takeOvers({
    ...{ times: 3, requestsPerSecond: 90, users: 30, quietMs: 1_000 },
    versions: [pixelmillCommand],
  });
  expect(faults).toMatchObject({ faults: {}, lost: 0, doubled: 0, disordered: 0 });
  expect(acknowledged).toBeGreaterThan(30);
  process.stdout.write(`${acknowledged} events, slowest response ${slowestMs} ms\n`);
}, 600_000);
