import { expect } from "bun:test";
import { brokersMissing } from "../cluster/brokers.ts";
import { testWith } from "../counterpart.ts";
import { formatCall, linear } from "./linear.ts";

/** A short form of `npm run linear`. */
testWith(brokersMissing)(
  "management calls at several nodes are linearizable while a node is killed",
  async () => {
    const report = await linear({
      ...{ nodes: 2, brokers: 1, clients: 24, calls: 300, groups: 12 },
      ...{ harm: ["nodeKilled"], quietMs: 2_000, onRound() {} },
    });
    expect(report.violations.flatMap((calls) => calls.map(formatCall))).toEqual([]);
    expect(report.undecided).toEqual([]);
    expect(report.calls.reads).toBeGreaterThan(30);
    expect(report.calls.writes).toBeGreaterThan(30);
  },
  600_000,
);
