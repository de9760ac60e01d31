import { expect, test } from "bun:test";
import { judgeGroup } from "../../src/cluster/membership/group-health.ts";

const silences = [0, 60_000];

test("a node that some broker answers is never in trouble, and no sentence blames all brokers", () => {
  for (const silentMs of silences) {
    for (const isMember of [true, false]) {
      const facts = { group: "p", isMember, hasJoined: true, silentMs, silentMsMax: 15_000 };
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
