import { expect, test } from "bun:test";
import fc from "fast-check";
import { AnswerHealth } from "../../src/cluster/events/answer-health.ts";
import { MessagePassage } from "../../src/cluster/node-bus/message-passage.ts";
import { LeaderFailed } from "../../src/cluster/topics/fetch-answer.ts";
import { EntriesLost, ReadHealth } from "../../src/cluster/topics/read-health.ts";
import { TopicRecreated } from "../../src/cluster/topics/topic-identity.ts";
import { listeningLogger } from "../log/support.ts";

const failure = Object.assign(new Error("Connection closed"), { code: "PLT_KFK_NETWORK" });

test("a partition is unreadable after four failures in a row, and readable after one success", () => {
  const property = fc.property(fc.array(fc.boolean(), { maxLength: 40 }), (outcomes) => {
    const health = new ReadHealth();
    let [inRow, wasUnreadable] = [0, false];
    for (const isSuccess of outcomes) {
      inRow = isSuccess ? 0 : inRow + 1;
      const isChanged = isSuccess ? health.succeeded() : health.failed(failure);
      expect(health.isUnreadable).toBe(inRow >= 4);
      expect(isChanged).toBe(health.isUnreadable !== wasUnreadable);
      wasUnreadable = health.isUnreadable;
    }
  });
  fc.assert(property);
});

test("a topic that was created again, or has lost entries, is unreadable at once", () => {
  const errors = [
    [new TopicRecreated("t"), "The topic t was deleted and created again"],
    [new EntriesLost("Entry 3 is lost"), "Log 0 cannot be read: Entry 3 is lost"],
  ] as const;
  for (const [error, sentence] of errors) {
    const health = new ReadHealth();
    expect(health.failed(error)).toBe(true);
    expect(health.cause).toBe(error.message);
    expect(health.trouble("Log 0 cannot be read")).toBe(sentence);
  }
});

test("a failed read names the broker that it was sent to, and no broker if it was sent to none", () => {
  const causeOf = (error: Error) => {
    const health = new ReadHealth();
    health.failed(error);
    return health.cause;
  };
  const ofLeader = (cause?: Error) => new LeaderFailed("b:9092", "answers with error 6", cause);
  const refused = Object.assign(new Error("Refused"), {
    ...{ code: "PLT_KFK_MULTIPLE", errors: [{ apiId: "KAFKA_STORAGE_ERROR" }] },
  });
  const leader = "broker b:9092, which leads,";
  expect(causeOf(ofLeader(failure))).toBe(`${leader} does not answer this node`);
  expect(causeOf(ofLeader(refused))).toBe(`${leader} answers KAFKA_STORAGE_ERROR`);
  expect(causeOf(ofLeader())).toBe(`${leader} answers with error 6`);
  expect(causeOf(failure)).toBe("the brokers do not answer this node");
  expect(causeOf(refused)).toBe("the brokers answer KAFKA_STORAGE_ERROR");
  expect(causeOf(new Error("A partition has no leader"))).toBe("A partition has no leader");
});

test("partitions whose leaders do not answer are named by cause, and logged once until all answer", () => {
  const { logger, lines } = listeningLogger();
  const health = new AnswerHealth({ topic: "p.events", logger });
  const isLogged = () => lines.splice(0).map(({ level, msg, topic }) => [level, topic, msg]);
  health.noteAnswers(new Map());
  expect([health.trouble(), isLogged()]).toEqual([undefined, []]);
  const silent = new LeaderFailed("b:9092", "", failure);
  health.noteAnswers(new Map([[2, silent]]));
  const one = "Partition 2 of the event log does not answer";
  const why = "broker b:9092, which leads, does not answer this node";
  expect(health.trouble()).toBe(`${one}: ${why}`);
  expect(isLogged()).toEqual([[50, "p.events", one]]);
  const without = new Error("no leader");
  health.noteAnswers(
    new Map([
      [5, silent],
      [4, without],
      [2, silent],
    ]),
  );
  expect(health.trouble()).toBe(
    `Partitions 2, 5 of the event log do not answer: ${why}; Partition 4 of the event log does not answer: no leader`,
  );
  health.failed(failure);
  expect(health.trouble()).toBe(
    "No partition of the event log answers: the brokers do not answer this node",
  );
  expect(isLogged()).toEqual([]);
  health.noteAnswers(new Map());
  expect(health.trouble()).toBeUndefined();
  health.noteAnswers(
    new Map([
      [0, silent],
      [1, silent],
    ]),
  );
  expect(isLogged()).toEqual([
    [30, "p.events", "all partitions of the event log answer again"],
    [50, "p.events", "Partitions 0, 1 of the event log do not answer"],
  ]);
});

test("messages of a node pass while they are written, and read back within three seconds", () => {
  let now = 5;
  const passage = new MessagePassage(() => now);
  expect(passage.isWorking()).toBe(true);
  passage.sent();
  now += 2_999;
  passage.sent();
  expect(passage.isWorking()).toBe(true);
  now += 1;
  expect(passage.isWorking()).toBe(false);
  passage.read();
  expect(passage.isWorking()).toBe(true);
  passage.sent();
  passage.wrote(false);
  expect([passage.isWritten, passage.isWorking()]).toEqual([false, false]);
  passage.wrote(true);
  expect([passage.isWritten, passage.isWorking()]).toEqual([true, true]);
});
