import { expect, test } from "bun:test";
import { judgeGroup } from "../../src/cluster/membership/group-health.ts";

const silences = [0, 60_000];

test("a node that some broker answers is never in trouble, and no sentence blames all brokers", () => {
  for (const silentMs of silences) {
    for (const isMember of [true, false]) {
      const joined = { isMember, hasJoined: true, joinError: undefined, runsPartitions: false };
      const facts = { group: "p", ...joined, silentMs, silentMsMax: 15_000 };
      const answered = judgeGroup({ ...facts, isAnyResponsive: true });
      expect(answered.trouble).toBeUndefined();
      expect(answered.warnings).toEqual([
        ...(silentMs > 0 ? ["The coordinator of the group p has not answered for 60 s"] : []),
        ...(isMember ? [] : ["This node is not in the group p at present, and runs no partition"]),
      ]);
      const away = judgeGroup({ ...facts, isAnyResponsive: false });
      expect(away.warnings).toEqual([]);
      expect(away.trouble).toBe(silentMs > 0 ? "No broker has answered for 60 s" : undefined);
    }
  }
});

test("a node that the group has never taken says with which answer it was refused", () => {
  const joinError = Object.assign(new Error("No"), { apiId: "GROUP_AUTHORIZATION_FAILED" });
  const facts = {
    ...{
      group: "p",
      isMember: false,
      runsPartitions: false,
      silentMs: 0,
      silentMsMax: 15_000,
      isAnyResponsive: true,
    },
    joinError,
  };
  expect(judgeGroup({ ...facts, hasJoined: false }).trouble).toBe(
    "This node cannot join the group p: its coordinator answers GROUP_AUTHORIZATION_FAILED",
  );
  // A member that was in the group joins again by itself, and answers all requests meanwhile.
  expect(judgeGroup({ ...facts, hasJoined: true }).trouble).toBeUndefined();
  const starting = judgeGroup({ ...facts, joinError: undefined, hasJoined: false });
  expect(starting).toEqual({ trouble: undefined, warnings: [] });
});

test("a node is in trouble as soon as requests fail, once no broker answers", () => {
  const joined = { isMember: true, hasJoined: true, joinError: undefined, runsPartitions: true };
  const facts = { group: "p", ...joined, silentMs: 6_000, silentMsMax: 15_000 };
  expect(judgeGroup({ ...facts, isAnyResponsive: false }).trouble).toBe(
    "No broker has answered for 6 s",
  );
  // The coordinator alone may be silent for longer, because requests do not need it.
  expect(judgeGroup({ ...facts, isAnyResponsive: true }).warnings).toEqual([]);
  const brief = { ...facts, silentMs: 4_000 };
  expect(judgeGroup({ ...brief, isAnyResponsive: false }).trouble).toBeUndefined();
});

test("a node that the group removed does not claim to run no partition while it stops them", () => {
  const facts = {
    ...{ group: "p", isMember: false, hasJoined: true, joinError: undefined },
    ...{ silentMs: 0, silentMsMax: 15_000, isAnyResponsive: true },
  };
  expect(judgeGroup({ ...facts, runsPartitions: true }).warnings).toEqual([
    "This node is not in the group p at present, and stops its partitions",
  ]);
  expect(judgeGroup({ ...facts, runsPartitions: false }).warnings).toEqual([
    "This node is not in the group p at present, and runs no partition",
  ]);
});
