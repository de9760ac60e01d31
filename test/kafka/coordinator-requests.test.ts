import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import {
  askAllForCoordinator,
  coordinatorInOffice,
  followCoordinator,
} from "../../src/kafka/group-coordinator.ts";
import type { KafkaLibrary } from "../../src/kafka/library.ts";

class NetworkError extends Error {
  constructor(
    message: string,
    readonly more: object,
  ) {
    super(message);
  }
}
const kafka = {
  kGetApi: "api",
  kGetConnection: "connection",
  kGetBootstrapConnection: "bootstrap",
  NetworkError,
  ResponseError: class {},
} as unknown as KafkaLibrary;

type Done = (error: Error | null, result?: unknown) => void;
const coordinator = (nodeId: number) => ({ nodeId, host: "h", port: nodeId });

/** Brokers that name a coordinator, and know the sum of so many leader epochs. */
function brokersOf(...known: [named: number, epochs?: number[]][]) {
  const requests: unknown[][] = [];
  const clients = known.map(([named, epochs = []]) => ({
    bootstrap: (done: Done) => done(null, "connection"),
    api(name: string, done: Done) {
      const partitions = epochs.map((leaderEpoch) => ({ leaderEpoch }));
      const results: Record<string, unknown> = {
        FindCoordinator: { coordinators: [{ key: "another", ...coordinator(named) }] },
        Metadata: { topics: [{ partitions }] },
      };
      done(null, (_: unknown, ...args: unknown[]) => {
        const answer = args.pop() as Done;
        requests.push([name, ...args]);
        answer(null, results[name]);
      });
    },
  }));
  const askEach = (ask: (client: never) => Promise<unknown>) =>
    Promise.all(clients.map((client) => ask(client as never)));
  let outdated = 0;
  return {
    requests,
    brokers: { askEach, view: { outdated: () => Array(outdated).fill({}) } } as never,
    setOutdated(count: number) {
      outdated = count;
    },
  };
}

/** A client of the library that keeps its requests, and answers them with `answer`. */
function clientOf(answer: [Error | null, unknown?] = [null, "of the library"]) {
  const sent: unknown[][] = [];
  const connected: unknown[] = [];
  const client = {
    coordinatorId: 1 as number | null,
    active: true,
    cleared: 0,
    isActive: () => client.active,
    clearMetadata: () => void client.cleared++,
    api(name: string, done: Done) {
      if (name === "Unknown") return done(new Error("No such request"));
      const api = (...args: unknown[]) => {
        const reply = args.pop() as Done;
        sent.push([name, ...args]);
        reply(...answer);
      };
      done(null, Object.assign(api, { key: 10, version: 4 }));
    },
    connection(broker: unknown, done: Done) {
      connected.push(broker);
      done(null, "connection");
    },
  };
  const ask = (name: string, ...args: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      client.api(name, (error, api) => {
        if (error) return reject(error);
        expect(api).toMatchObject({ key: 10, version: 4 });
        (api as (...args: unknown[]) => void)(...args, (failure: Error | null, result: unknown) =>
          failure ? reject(failure) : resolve(result),
        );
      });
    });
  const connect = (broker: unknown) =>
    new Promise<unknown>((resolve) => client.connection(broker, (error) => resolve(error)));
  return { client, sent, connected, ask, connect };
}

test("brokers that agree about the coordinator are believed at once", async () => {
  const { brokers, requests } = brokersOf([2], [2], [2]);
  const { client, ask, sent } = clientOf();
  askAllForCoordinator(kafka, client as never, brokers);
  const answer = await ask("FindCoordinator", "to", 0, ["g"]);
  expect(answer).toEqual({ coordinators: [{ key: "g", ...coordinator(2) }] });
  expect(requests).toEqual(Array(3).fill(["FindCoordinator", 0, ["g"]]));
  expect(sent).toEqual([]);
});

test("of brokers that disagree, those with the newest leaders are believed", async () => {
  const { brokers, requests } = brokersOf([1, [5, 5]], [1, [5, 5]], [2, [5, 6]]);
  const { client, ask } = clientOf();
  askAllForCoordinator(kafka, client as never, brokers);
  const answer = await ask("FindCoordinator", "to", 0, ["g"]);
  expect(answer).toEqual({ coordinators: [{ key: "g", ...coordinator(2) }] });
  const [name, topics] = requests.find(([name]) => name === "Metadata")!;
  expect([name, topics]).toEqual(["Metadata", ["__consumer_offsets"]]);
});

test("the library asks itself if no broker answers, and for all else", async () => {
  const { client, ask, sent } = clientOf();
  askAllForCoordinator(kafka, client as never, brokersOf().brokers);
  const others = [
    ["FindCoordinator", "to", 0, ["g"]],
    ["FindCoordinator", "to", 1, ["g"]],
    ["FindCoordinator", "to", 0, ["g", "h"]],
    ["Heartbeat", "to", "g"],
  ] as const;
  for (const [name, ...args] of others) {
    expect(await ask(name, ...args)).toBe("of the library");
  }
  expect(sent).toEqual(others.map((it) => [...it]));
  await expect(ask("Unknown")).rejects.toThrow("No such request");
  const failing = { askEach: () => Promise.reject(new Error("Broken")) } as never;
  const second = clientOf();
  askAllForCoordinator(kafka, second.client as never, failing);
  expect(await second.ask("FindCoordinator", "to", 0, ["g"])).toBe("of the library");
  // What several brokers say decides for one group alone.
  const third = clientOf();
  askAllForCoordinator(kafka, third.client as never, brokersOf([2]).brokers);
  expect(await third.ask("FindCoordinator", "to", 1, ["g"])).toBe("of the library");
  expect(await third.ask("FindCoordinator", "to", 0, ["g", "h"])).toBe("of the library");
});

test("of equally many votes, the coordinator with the lowest id is chosen", () => {
  for (const order of [
    [3, 2],
    [2, 3],
  ]) {
    const answers = order.map((id) => ({ coordinator: coordinator(id), epochs: 1 }));
    expect(coordinatorInOffice(answers)?.nodeId).toBe(2);
  }
});

let stop: (() => void) | undefined;
beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  stop?.();
  jest.useRealTimers();
});

const again = {
  more: { canRetry: true },
  message: "The coordinator of the group g must be found again",
};

/** Runs the callbacks of promises, which fake timers leave alone. */
async function turn() {
  for (let i = 0; i < 20; i++) await undefined;
}

test("a coordinator is asked for again after a failed request, once, and not if it decided", async () => {
  const decided = Object.assign(new Error("Rejoin"), {
    findBy: (property: string, value: unknown) =>
      property === "needsRejoin" && value === true ? {} : null,
  });
  const undecided = Object.assign(new Error("Other"), { findBy: () => null });
  for (const [name, error, isDoubted] of [
    ["Heartbeat", new Error("Timed out"), true],
    ["JoinGroup", undecided, true],
    ["SyncGroup", decided, false],
    ["LeaveGroup", null, false],
    ["Fetch", new Error("Timed out"), false],
  ] as const) {
    const { client, ask, connect, connected } = clientOf([error, "answer"]);
    stop = followCoordinator(kafka, client as never, "g", brokersOf([1]).brokers);
    const asked = ask(name, "to", "g");
    if (error === null) expect(await asked).toBe("answer");
    else await expect(asked).rejects.toBe(error);
    const broker = { port: 1 };
    const found = await connect(broker);
    if (isDoubted) expect(found).toMatchObject(again);
    else expect([name, found]).toEqual([name, null]);
    expect(await connect(broker)).toBeNull();
    expect(connected).toEqual(isDoubted ? [broker] : [broker, broker]);
    expect(client.cleared).toBe(0);
    stop();
  }
});

test("a coordinator that is no broker of the cluster is asked for again, with new metadata", async () => {
  const { client, connect } = clientOf();
  stop = followCoordinator(kafka, client as never, "g", brokersOf([1]).brokers);
  expect(await connect(undefined)).toMatchObject(again);
  expect(client.cleared).toBe(1);
});

test("while a broker is behind, a member looks every 2 s whether it has the coordinator in office", async () => {
  const { client, connect } = clientOf();
  const { brokers, requests, setOutdated } = brokersOf([2], [2]);
  stop = followCoordinator(kafka, client as never, "g", brokers);
  const look = async (ms = 2_000) => {
    jest.advanceTimersByTime(ms);
    await turn();
    return requests.splice(0).length;
  };
  expect(await look()).toBe(0);
  setOutdated(1);
  expect(await look(1_999)).toBe(0);
  expect(await look(1)).toBe(2);
  expect(await connect({})).toMatchObject(again);
  client.coordinatorId = 2;
  expect(await look()).toBe(2);
  expect(await connect({})).toBeNull();
  client.coordinatorId = null;
  expect(await look()).toBe(0);
  client.coordinatorId = 1;
  client.active = false;
  expect(await look()).toBe(0);
  client.active = true;
  stop();
  expect(await look()).toBe(0);
});
