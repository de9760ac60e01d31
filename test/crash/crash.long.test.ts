import { expect } from "bun:test";
import { brokersMissing } from "../cluster/brokers.ts";
import { testWith } from "../counterpart.ts";
import { crash } from "./crash.ts";

/** Each round waits for an event of each user. */
const USERS = 20;

/** A short form of `npm run crash -- --kafka`. */
testWith(brokersMissing)(
  "a cluster loses and duplicates no event when a node is killed, then its broker",
  async () => {
    const report = await crash({
      ...{ nodes: 2, brokers: 1, rounds: 2, users: USERS, pixelsPerSecond: 40 },
      ...{ hangMs: 15_000, awayMs: 5_000, quietMs: 5_000, onRound() {} },
    });
    expect(report.broken).toEqual([]);
    expect(report.verdict.delivered).toBeGreaterThanOrEqual(USERS);
  },
  600_000,
);
