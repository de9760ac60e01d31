import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { EventEmitter } from "node:events";
import { Membership, type MembershipOptions } from "../../src/cluster/membership/membership.ts";
import type { PartitionAbility } from "../../src/cluster/membership/partition-release.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { listeningLogger } from "../log/support.ts";

afterEach(() => void mock.restore());

const SESSION_MS = 10_000;
const settled = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
};

/** Replaces the clock and all pauses, which end when the test lets time pass. */
function steppedTime() {
  let now = 1_000;
  let pauses: { at: number; end(): void }[] = [];
  spyOn(performance, "now").mockImplementation(() => now);
  spyOn(Bun, "sleep").mockImplementation((ms) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    pauses.push({ at: now + Number(ms), end: resolve });
    return promise;
  });
  return {
    /** Lets `ms` pass in steps of half a second, as the loops of a member do. */
    async pass(ms: number, stepMs = 500) {
      await settled();
      for (let passed = 0; passed < ms; passed += stepMs) {
        now += stepMs;
        const due = pauses.filter(({ at }) => at <= now);
        pauses = pauses.filter(({ at }) => at > now);
        for (const { end } of due) end();
        await settled();
      }
    },
  };
}

type Metadata = { topics: Map<string, { partitionsCount: number }> };

/** A member of a group that exists in memory alone, and what happens to it. */
async function openMember(more: Partial<MembershipOptions> = {}) {
  const parts = {
    isActive: true,
    isLeader: false,
    failure: undefined as Error | undefined,
    assignments: [{ topic: "p.events", partitions: [0, 1] }],
    partitionsCount: 2,
    growth: undefined as number | undefined,
    stop: async () => {},
  };
  const introductions: Record<string, unknown>[] = [];
  const assigned: [partitions: readonly number[], refused: number[]][] = [];
  const calls: string[] = [];
  const consumer = Object.assign(new EventEmitter(), {
    topics: { track: (topic: string) => calls.push(`track ${topic}`) },
    connections: new Map([["b:1", { socket: { destroy: () => calls.push("destroy") } }]]),
    memberId: "m" as string | null,
    assignments: undefined as typeof parts.assignments | undefined,
    isActive: () => parts.isActive,
    async joinGroup(): Promise<void> {
      calls.push("join");
      const topics = new Map([["p.events", { partitionsCount: parts.partitionsCount }]]);
      const metadata = await options.protocolsMetadata("", "", { topics });
      introductions.push(JSON.parse(metadata.toString()));
      if (parts.failure !== undefined) throw parts.failure;
      consumer.assignments = parts.assignments;
      consumer.emit("consumer:group:join", parts);
    },
    async close(isForced: boolean): Promise<void> {
      calls.push(`close ${isForced}`);
    },
  });
  let options!: {
    protocolsMetadata(_: string, __: string, metadata: Metadata): Promise<Buffer>;
    heartbeatInterval: number;
  };
  const described = { members: new Map() };
  const clients = {
    admin: () => ({
      async metadata({ topics }: { topics: string[] }) {
        calls.push(`metadata of ${topics}`);
        if (parts.growth === undefined) throw new Error("No answer");
        return { topics: new Map([["p.events", { partitionsCount: parts.growth }]]) };
      },
      describeGroups: async ({ groups }: { groups: string[] }) =>
        new Map(groups.map((group) => [group, described])),
    }),
    groupConsumer(given: typeof options) {
      options = given;
      return consumer;
    },
    view: { isEmpty: false },
  };
  let running: readonly number[] = [];
  const { logger, lines } = listeningLogger();
  const membership = new Membership({
    runner: {
      async assign(partitions, refused) {
        assigned.push([partitions, [...(refused ?? [])]]);
        await parts.stop();
        running = partitions;
      },
      assigned: () => [...running],
      running: () => [...running],
    },
    clients: clients as unknown as KafkaClients,
    ...{ logger, group: "p", topic: "p.events", sessionMs: SESSION_MS },
    self: { id: "a", version: "1", controlPlaneUrl: "http://a" },
    ...more,
  });
  await settled();
  const count = (call: string) => calls.filter((it) => it === call).length;
  return {
    ...{ membership, parts, consumer, options, introductions, assigned, calls, count, lines },
    described,
  };
}

test("a node that has joined runs the partitions of its topic that the group assigns", async () => {
  const time = steppedTime();
  const { membership, parts, introductions, assigned, calls, options } = await openMember();
  expect(calls.slice(0, 2)).toEqual(["track p.events", "join"]);
  expect(options).toMatchObject({
    ...{ groupId: "p", sessionTimeout: SESSION_MS, rebalanceTimeout: SESSION_MS },
    heartbeatInterval: 400,
  });
  const self = { id: "a", version: "1", controlPlaneUrl: "http://a" };
  expect(introductions).toEqual([{ ...self, refused: [], reports: 0 }]);
  // Before it joins, it stops what the group has not assigned to it.
  expect(assigned).toEqual([
    [[], []],
    [[0, 1], []],
  ]);
  expect(membership.state()).toEqual({
    ...{ isMember: true, hasJoined: true, partitions: [0, 1], refused: [] },
    ...{ trouble: undefined, warnings: [] },
  });
  parts.assignments = [
    { topic: "other", partitions: [7] },
    { topic: "p.events", partitions: [1] },
  ];
  await membership.leave();
  await time.pass(5_000);
  expect(assigned.at(-1)).toEqual([[], []]);
  expect([calls.includes("close true"), membership.state().isMember]).toEqual([true, false]);
});

test("a node joins again after an error, which is logged once, and keeps what it was assigned", async () => {
  const time = steppedTime();
  const { membership, parts, consumer, assigned, count, lines } = await openMember();
  parts.failure = new Error("No coordinator");
  consumer.emit("error", new Error("Connection closed"));
  await time.pass(500);
  expect(count("join")).toBe(2);
  // It is still a member, and so its partitions stay.
  expect(assigned.at(-1)).toEqual([[0, 1], []]);
  expect(membership.state().isMember).toBe(true);
  consumer.memberId = null;
  await time.pass(1_000);
  expect(count("join")).toBe(4);
  expect(membership.state()).toMatchObject({
    isMember: false,
    hasJoined: true,
    trouble: undefined,
  });
  expect(membership.state().warnings).toEqual([
    "This node is not in the group p at present, and stops its partitions",
  ]);
  parts.failure = undefined;
  parts.assignments = [
    { topic: "other", partitions: [7] },
    { topic: "p.events", partitions: [1] },
  ];
  await time.pass(500);
  expect(assigned.at(-1)).toEqual([[1], []]);
  expect(membership.state()).toMatchObject({ isMember: true, warnings: [] });
  await time.pass(5_000);
  expect(count("join")).toBe(5);
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    [50, "node cannot join the cluster; retrying"],
    [30, "node joined the cluster again"],
  ]);
  await membership.leave();
});

test("a partition that stops for longer than half a session does not delay the join", async () => {
  const time = steppedTime();
  const { membership, parts, consumer, introductions } = await openMember();
  const stopped = Promise.withResolvers<void>();
  parts.stop = () => stopped.promise;
  consumer.emit("error", new Error("Removed"));
  await time.pass(500 + SESSION_MS / 2 - 500);
  expect(introductions).toHaveLength(1);
  await time.pass(500);
  expect(introductions).toHaveLength(2);
  stopped.resolve();
  await membership.leave();
});

test("partitions that are added to the topic make the leader of the group join again", async () => {
  const time = steppedTime();
  const follower = await openMember();
  follower.parts.growth = 3;
  await time.pass(10_000);
  expect([follower.count("join"), follower.count("metadata of p.events")]).toEqual([1, 0]);
  await follower.membership.leave();

  const { membership, parts, consumer, count } = await openMember();
  parts.isLeader = true;
  consumer.emit("consumer:group:join", parts);
  await time.pass(5_000);
  expect([count("join"), count("metadata of p.events")]).toEqual([1, 1]);
  parts.growth = 2;
  await time.pass(5_000);
  expect(count("join")).toBe(1);
  parts.growth = 3;
  parts.partitionsCount = 3;
  await time.pass(5_000);
  expect(count("join")).toBe(2);
  await time.pass(5_000);
  expect(count("join")).toBe(2);
  await membership.leave();
});

test("a member closes its connections when brokers are silent for three tenths of a session", async () => {
  const time = steppedTime();
  const { membership, consumer, parts, count } = await openMember();
  await time.pass(2_500);
  expect(count("destroy")).toBe(0);
  consumer.emit("consumer:heartbeat:end");
  await time.pass(2_500);
  consumer.emit("consumer:group:rebalance");
  await time.pass(2_500);
  expect(count("destroy")).toBe(0);
  await time.pass(500);
  expect(count("destroy")).toBe(1);
  await time.pass(2_500);
  expect(count("destroy")).toBe(1);
  await time.pass(500);
  expect(count("destroy")).toBe(2);
  expect(membership.state().warnings).toEqual([]);
  // A broker may delay a join for as long as another member hangs.
  parts.isActive = false;
  await time.pass(11_500);
  expect(count("destroy")).toBe(2);
  await time.pass(500);
  expect(count("destroy")).toBe(3);
  expect(membership.state().warnings).toEqual([
    "The coordinator of the group p has not answered for 18 s",
  ]);
  await membership.leave();
});

test("time in which the process of a member stood still is no silence of brokers", async () => {
  const time = steppedTime();
  const { membership, count } = await openMember();
  await time.pass(60_000, 60_000);
  expect([count("destroy"), membership.state().warnings]).toEqual([0, []]);
  await membership.leave();
});

test("a node that cannot run a partition for a session reports this once, and the group may take it", async () => {
  const time = steppedTime();
  const disk = "The disk is full";
  let ability: PartitionAbility = { troubles: new Map([[0, disk]]), canRun: [1] };
  const { membership, introductions, assigned, count, lines } = await openMember({
    ability: () => ability,
  });
  expect(introductions).toMatchObject([{ canRun: [1], refused: [], reports: 0 }]);
  await time.pass(SESSION_MS - 500);
  expect(count("join")).toBe(1);
  await time.pass(1_000);
  expect(count("join")).toBe(2);
  const refused = [{ reason: disk, partitions: [0] }];
  expect(introductions.at(-1)).toMatchObject({ canRun: [1], refused, reports: 1 });
  expect(membership.state().refused).toEqual(refused);
  // If the group takes the partition, it stops without its work in flight.
  expect(assigned.at(-1)).toEqual([[0, 1], [0]]);
  expect(lines.map(({ level, msg, refused }) => [level, msg, refused])).toEqual([
    [40, "refused partitions reported", refused],
  ]);
  await time.pass(SESSION_MS - 1_000);
  expect(count("join")).toBe(2);
  ability = { troubles: new Map(), canRun: [0, 1] };
  await time.pass(500);
  expect(membership.state().refused).toEqual([]);
  await time.pass(SESSION_MS);
  expect(count("join")).toBe(3);
  expect(introductions.at(-1)).toMatchObject({ canRun: [0, 1], refused: [], reports: 2 });
  await membership.leave();
});

test("the nodes of the cluster are those that the brokers describe", async () => {
  steppedTime();
  const { membership, described } = await openMember();
  expect(await membership.nodes()).toEqual([]);
  const introduction = JSON.stringify({ id: "b", version: "2", controlPlaneUrl: "" });
  described.members.set("m", { metadata: { metadata: introduction } });
  expect(await membership.nodes()).toMatchObject([{ id: "b", version: "2", partitions: [] }]);
  await membership.leave();
});

test("a short session has heartbeats of its fifth part", async () => {
  steppedTime();
  const { membership, options } = await openMember({ sessionMs: 1_000 });
  expect(options.heartbeatInterval).toBe(200);
  await membership.leave();
});
