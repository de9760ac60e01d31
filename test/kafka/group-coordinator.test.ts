import { describe, expect, test } from "bun:test";
import { coordinatorInOffice } from "../../src/kafka/group-coordinator.ts";
import { openMember } from "../cluster/member.ts";
import { until } from "../log/support.ts";
import { type SimulatedBroker, startSimulatedGroup } from "./simulated-brokers.ts";

const SESSION_MS = 3_000;

describe("a member leaves a coordinator that is replaced,", () => {
  const faults: [string, (old: SimulatedBroker, others: SimulatedBroker[]) => void][] = [
    [
      "and that the other brokers do not list",
      (old, others) => {
        old.become("unavailable");
        for (const it of others) it.view = { ...it.view, listed: [1, 2] };
      },
    ],
    ["and that is silent", (old) => old.become("silent")],
    ["and that refuses connections", (old) => old.become("refuses")],
    ["and that answers that it is not available", (old) => old.become("unavailable")],
    ["and that believes to be in office", () => {}],
    [
      "and that believes to be in office while the others do not list it",
      (_, others) => {
        for (const it of others) it.view = { ...it.view, listed: [1, 2] };
      },
    ],
  ];
  test.concurrent.each(faults)("%s", async (name, disturb) => {
    const group = await startSimulatedGroup(name.replaceAll(" ", "-"));
    const brokers = { brokers: group.addresses() };
    const { topic } = group;
    const member = await openMember({ brokers, topic, id: "a", sessionMs: SESSION_MS });
    try {
      const [old, ...others] = group.brokers as [SimulatedBroker, ...SimulatedBroker[]];
      const [next] = others as [SimulatedBroker];
      await until(() => old.heartbeats > 0 && member.runs().length === 1);
      for (const it of others) it.view = { ...it.view, coordinator: 1, epoch: 2 };
      disturb(old, others);
      await until(() => next.heartbeats > 2);
      const before = old.heartbeats;
      await until(() => next.heartbeats > 5);
      expect(old.heartbeats).toBe(before);
      expect(member.runs()).toEqual([0]);
    } finally {
      await member.stop();
      group.close();
    }
  });
});

describe("the coordinator in office", () => {
  const broker = (nodeId: number) => ({ nodeId, host: "127.0.0.1", port: 9_092 });

  test("is the one that the brokers with the newest leaders name", () => {
    const answers = [
      { coordinator: broker(1), epochs: 7 },
      { coordinator: broker(1), epochs: 7 },
      { coordinator: broker(2), epochs: 8 },
    ];
    expect(coordinatorInOffice(answers)?.nodeId).toBe(2);
  });

  test("is the one that most brokers name if their leaders are equally new", () => {
    const answers = [1, 2, 2].map((nodeId) => ({ coordinator: broker(nodeId), epochs: 0 }));
    expect(coordinatorInOffice(answers)?.nodeId).toBe(2);
  });

  test("is unknown without answers", () => {
    expect(coordinatorInOffice([])).toBeUndefined();
  });
});
