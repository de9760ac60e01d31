import { expect, test } from "bun:test";
import { UserGroups } from "../../src/pipeline/delivering/user-groups.ts";
import { disordered, LaneDeliveryRig, SimulatedClock, simulatedKind } from "./lane-delivery-rig.ts";
import { numbersTo } from "./rig.ts";

test("a group keeps its queue until all of its outputs are settled", () => {
  const groups = new UserGroups();
  const group = groups.groupOf("ada");
  expect(groups.queueOf(group)).toBeUndefined();
  groups.add(group, 3, 2);
  groups.settle(group);
  expect(groups.queueOf(group)).toBe(3);
  groups.settle(group);
  expect(groups.queueOf(group)).toBeUndefined();
  expect(() => groups.settle(group)).toThrow("A group settles no more outputs than were queued");
});

test("users are spread over groups, whatever their ids have in common", () => {
  const groups = new UserGroups();
  for (const idOf of [
    (n: number) => `user-${n}`,
    (n: number) => `${n}@example.com`,
    (n: number) => `${String(n).padStart(12, "0")}-aaaa-4000-8000-000000000000`,
  ]) {
    const used = new Set(numbersTo(2_000).map((n) => groups.groupOf(idOf(n))));
    // At random, 2,000 users would use 1,277 of 2,048 groups.
    expect(used.size).toBeGreaterThan(1_100);
  }
});

test("an event that fails holds up no other user of its group", async () => {
  const groups = new UserGroups();
  const others = numbersTo(20_000).map((n) => `user ${n}`);
  const failing = others[0]!;
  const sameGroup = others.filter((user) => groups.groupOf(user) === groups.groupOf(failing));
  expect(sameGroup.length).toBeGreaterThan(3);
  const clock = new SimulatedClock();
  const kind = simulatedKind(clock, { concurrency: 8, batchSize: 10 }, (events) => {
    return events.some(({ isPoison }) => isPoison)
      ? { kind: "retry", reason: "Answered 500", scope: "event" }
      : { kind: "delivered" };
  });
  const rig = new LaneDeliveryRig(kind, {}, clock);
  rig.push({ n: 0, user: failing, isPoison: true });
  const later = numbersTo(60).map((n) => ({ n: n + 1, user: sameGroup[n % sameGroup.length]! }));
  rig.push(...later);
  await clock.runUntil(3_000);
  const delivered = rig.delivered();
  expect(delivered.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(
    later.filter(({ user }) => user !== failing).map(({ n }) => n),
  );
  expect(disordered(delivered)).toEqual([]);
  await rig.end();
});
