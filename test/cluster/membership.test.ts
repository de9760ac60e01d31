import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Consumer as GroupMember } from "@platformatic/kafka";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { until } from "../log/support.ts";
import { holds } from "../until.ts";
import { brokersMissing } from "./brokers.ts";
import { type MemberProcess, openMember, startMember, type TestMember } from "./member.ts";
import { settingsOf, withBrokers } from "./support.ts";

const PARTITIONS = 6;
/** Session timeout of members that the test replaces. */
const SHORT_SESSION_MS = 4_000;
/** Session timeout that no busy machine exceeds. */
const SESSION_MS = 30_000;

/** Members wait for each other most of the time, so these tests wait side by side. */
describeWith(brokersMissing)("nodes share partitions", () => {
  const { brokers, clients } = withBrokers(1);
  let topics = 0;

  /** Members of a topic of its own; what they leave behind ends with the test. */
  async function withMembers(
    use: (
      open: (id: string, drainMs?: number) => Promise<TestMember>,
      topic: string,
    ) => Promise<void>,
  ) {
    const topic = `shared-${++topics}`;
    await ensureTopic(clients().admin(), { name: topic, partitions: PARTITIONS, replicas: 1 });
    const opened: TestMember[] = [];
    const options = { brokers: settingsOf(brokers()), topic, sessionMs: SESSION_MS };
    try {
      await use(async (id, drainMs = 0) => {
        const member = await openMember({ ...options, id, drainMs });
        opened.push(member);
        return member;
      }, topic);
    } finally {
      await Promise.all(opened.map((it) => it.stop()));
    }
  }

  const counts = (...members: { runs(): number[] }[]) =>
    members.map((it) => it.runs().length).join();
  const closed = (member: TestMember) =>
    member.told.filter(({ what }) => what === "close").map(({ partition }) => partition);

  test.concurrent("when nodes join and leave, without interrupting the partitions that a node keeps", async () => {
    await withMembers(async (open) => {
      const a = await open("a");
      await until(() => counts(a) === "6");
      const b = await open("b");
      await until(() => counts(a, b) === "3,3");
      const c = await open("c");
      await until(() => counts(a, b, c) === "2,2,2");
      expect([closed(a).length, closed(b).length, closed(c).length]).toEqual([4, 1, 0]);
      await b.stop();
      await until(() => counts(a, c) === "3,3");
      expect([closed(a).length, closed(c).length]).toEqual([4, 0]);
      const all = [...a.runs(), ...c.runs()].sort();
      expect(all).toEqual([0, 1, 2, 3, 4, 5]);
    });
  }, 300_000);

  test.concurrent("a partition that moves is closed by its old owner before the new one opens it", async () => {
    await withMembers(async (open) => {
      const slow = await open("slow", 700);
      await until(() => counts(slow) === "6");
      const other = await open("other");
      const early: number[] = [];
      await until(() => {
        early.push(...other.runs().filter((it) => slow.runs().includes(it)));
        return counts(other) === "3";
      });
      expect(early).toEqual([]);
      expect(closed(slow)).toHaveLength(3);
    });
  }, 300_000);

  test.concurrent("a node that leaves closes all its partitions before others open them", async () => {
    await withMembers(async (open) => {
      const leaving = await open("leaving", 500);
      const other = await open("other");
      await until(() => counts(leaving, other) === "3,3");
      const left = leaving.stop();
      const early: number[] = [];
      await until(() => {
        early.push(...other.runs().filter((it) => leaving.runs().includes(it)));
        return counts(other) === "6";
      });
      expect(early).toEqual([]);
      await left;
    });
  }, 300_000);

  test.concurrent("members list all nodes with their partitions", async () => {
    await withMembers(async (open) => {
      const [b, a] = [await open("b"), await open("a")];
      await until(() => counts(a, b) === "3,3");
      const self = (id: string) => ({
        ...{ id, version: "1.0.0", controlPlaneUrl: `http://${id}.internal` },
      });
      // A busy broker answers too late for one call.
      const listed = await waitFor(() => b.membership.nodes().catch(() => undefined));
      expect(listed).toEqual([
        { ...self("a"), partitions: a.runs(), refused: [] },
        { ...self("b"), partitions: b.runs(), refused: [] },
      ]);
      const state = {
        ...{ isMember: true, hasJoined: true, partitions: a.runs(), refused: [] },
        ...{ trouble: undefined, warnings: [] },
      };
      expect(a.membership.state()).toEqual(state);
    });
  }, 300_000);

  test.concurrent("partitions that are added to the topic are assigned too", async () => {
    await withMembers(async (open, topic) => {
      const [a, b] = [await open("a"), await open("b")];
      await until(() => counts(a, b) === "3,3");
      const kept = [closed(a), closed(b)];
      const assignments = [{ brokerIds: [1] }, { brokerIds: [1] }];
      await clients()
        .admin()
        .createPartitions({ topics: [{ name: topic, count: 8, assignments }] });
      await until(() => counts(a, b) === "4,4");
      expect([closed(a), closed(b)]).toEqual(kept);
    });
  }, 300_000);

  test.concurrent("although a member of another program has subscribed to a topic that does not exist", async () => {
    await withMembers(async (open, topic) => {
      const a = await open("a");
      await until(() => counts(a) === "6");
      const gone = `${topic}-gone`;
      const admin = clients().admin();
      await ensureTopic(admin, { name: gone, partitions: 1, replicas: 1 });
      const { Consumer } = await loadKafkaLibrary();
      const foreign: GroupMember = new Consumer({
        clientId: "foreign",
        bootstrapBrokers: brokers().addresses,
        groupId: topic,
        protocols: [{ name: "cooperative-sticky", version: 3 }],
        sessionTimeout: SESSION_MS,
      });
      foreign.topics.track(gone);
      try {
        await foreign.joinGroup({});
        await admin.deleteTopics({ topics: [gone] });
        // The leader's next look at the topics finds that it is gone.
        await holds(5_000, () => expect(counts(a)).toBe("6"));
        const b = await open("b");
        await until(() => counts(a, b) === "3,3");
      } finally {
        await foreign.close(true);
      }
    });
  }, 300_000);

  test.concurrent("although the first broker of the list accepts requests and never answers", async () => {
    const mute = createServer(() => {}).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const { port } = mute.address() as AddressInfo;
    const known = [`127.0.0.1:${port}`, ...brokers().addresses];
    await ensureTopic(clients().admin(), { name: "mute", partitions: PARTITIONS, replicas: 1 });
    const options = { brokers: { brokers: known }, topic: "mute", sessionMs: SHORT_SESSION_MS };
    const member = await openMember({ ...options, id: "a" });
    try {
      await until(() => counts(member) === "6");
    } finally {
      await member.stop();
      mute.close();
    }
  }, 300_000);

  describe("a member in a separate process", () => {
    /** A member in this process and one in its own, which is killed after the test. */
    async function withProcess(
      use: (
        a: TestMember,
        b: MemberProcess,
        open: (id: string) => Promise<TestMember>,
      ) => Promise<void>,
    ) {
      await withMembers(async (open, topic) => {
        const a = await open("a");
        const options = { brokers: settingsOf(brokers()), topic, sessionMs: SHORT_SESSION_MS };
        const b = startMember({ ...options, id: "b" });
        try {
          await until(() => counts(a, b) === "3,3");
          await use(a, b, open);
        } finally {
          await b.kill();
        }
      });
    }

    test.concurrent("that is killed is replaced", async () => {
      await withProcess(async (a, b, open) => {
        b.child.kill("SIGKILL");
        await until(() => counts(a) === "6");
        const c = await open("c");
        await until(() => counts(a, c) === "3,3");
      });
    }, 300_000);

    test.concurrent("that hangs is replaced, and has closed all partitions when it rejoins", async () => {
      await withProcess(async (a, b) => {
        const had = b.told.length;
        b.child.kill("SIGSTOP");
        await until(() => counts(a) === "6");
        b.child.kill("SIGCONT");
        await until(() => counts(a, b) === "3,3" && b.told.length > had);
        const first = b.told.slice(had, had + 6).map(({ what }) => what);
        expect(first.sort()).toEqual(["close", "close", "close", "closed", "closed", "closed"]);
      });
    }, 300_000);

    test.concurrent("that gets SIGTERM hands over its partitions at once", async () => {
      await withProcess(async (a, b) => {
        b.child.kill("SIGTERM");
        expect(await b.child.exited).toBe(0);
        expect(b.runs()).toEqual([]);
        await until(() => counts(a) === "6");
      });
    }, 300_000);
  });

  test("members keep their partitions while a main thread is busy for two seconds", async () => {
    await withMembers(async (open) => {
      const [a, b] = [await open("a"), await open("b")];
      await until(() => counts(a, b) === "3,3");
      const told = [a.told.length, b.told.length];
      Bun.sleepSync(2_000);
      const c = await open("c");
      await until(() => counts(a, b, c) === "2,2,2");
      expect([a.told.length, b.told.length]).toEqual(told.map((it) => it + 2));
    });
  }, 300_000);

  test("members keep their partitions while no broker answers, and rejoin afterwards", async () => {
    await withMembers(async (open) => {
      const [a, b] = [await open("a"), await open("b")];
      await until(() => counts(a, b) === "3,3");
      const told = [a.told.length, b.told.length];
      await brokers().kill(0);
      await holds(3_000, () => expect(counts(a, b)).toBe("3,3"));
      await expect(a.membership.nodes()).rejects.toThrow();
      await brokers().restart(0);
      const c = await open("c");
      await until(() => counts(a, b, c) === "2,2,2");
      expect([a.told.length, b.told.length]).toEqual(told.map((it) => it + 2));
      await b.stop();
      await until(() => counts(a, c) === "3,3");
    });
  }, 300_000);
});
