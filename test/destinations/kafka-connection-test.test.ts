import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { RawSink } from "../egress/sink.ts";
import {
  deliver,
  listen,
  METADATA,
  metadataAnswer,
  PRODUCE,
  produceAnswer,
  producerIdAnswer,
} from "./kafka-fake-broker.ts";
import { outgoing } from "./outgoing.ts";

setDefaultTimeout(300_000);

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const kind: DestinationKind = kafkaKind(egress);
afterAll(() => egress.close());
const { signal } = new AbortController();

/** A broker that leads the topic `events`, answers its batches with a code, and keeps requests. */
async function startBroker(code = 0) {
  const got: { key: number; request: Buffer }[] = [];
  const address: string = await listen((key, request) => {
    got.push({ key, request });
    if (key === PRODUCE) return produceAnswer(code);
    if (key !== METADATA) return producerIdAnswer;
    return metadataAnswer([[1, address]], { leader: 1, epoch: 0 });
  });
  const mayCreate = () =>
    got.filter(({ key }) => key === METADATA).map(({ request }) => request.at(-3));
  return { address, got, mayCreate };
}

async function stepsOf(brokers: string, more: object = {}) {
  const config = { brokers, topic: "events", tls: "off", ...more };
  const steps = await kind.test(config, "workspace", signal);
  return steps.map(({ step, ok, message, answer }) => {
    return [ok ? step : `${step} failed`, message, ...(answer ? [answer.code] : [])];
  });
}
const passed = (...names: string[]) => names.map((name) => [name, undefined]);
const before = passed("resolve", "connect", "sign-in");
const STAYS = "The record stays: none can be deleted";

test("a connection test writes one record, which stays in the topic", async () => {
  const { address, got, mayCreate } = await startBroker();
  expect(await stepsOf(address)).toEqual([...before, ["write", STAYS]]);
  expect(got.filter(({ key }) => key === PRODUCE)).toHaveLength(1);
  expect(String(got.at(-1)!.request)).toContain('"event":"Connection test"');
  expect(mayCreate()).toEqual([0]);
});

test("a connection test creates the topic that the config names, and none that events name", async () => {
  const one = await startBroker();
  await stepsOf(one.address, { createTopics: true });
  expect(one.mayCreate()).toEqual([1]);
  const named = await startBroker();
  const config = { topic: "x.{{event}}", createTopics: true };
  const missing = "The topic does not exist (topic x.Connection_test, error 3)";
  expect(await stepsOf(named.address, config)).toEqual([
    ...before,
    ["write", `Nothing was written: ${missing}`],
  ]);
  expect(new Set(named.mayCreate())).toEqual(new Set([0]));
});

test("a connection test names what a broker refuses to write", async () => {
  const denied = await startBroker(29);
  const reason = "The user may not write to the topic (topic events, error 29)";
  expect(await stepsOf(denied.address)).toEqual([...before, ["write failed", reason, "29"]]);
  const large = await startBroker(10);
  expect(await stepsOf(large.address)).toEqual([
    ...before,
    ["write failed", "The record is larger than the topic takes (topic events, error 10)"],
  ]);
});

test("a connection test passes by the first broker that can be reached, or tells about the first", async () => {
  const { address } = await startBroker();
  expect(await stepsOf(`127.0.0.1:1,${address}`)).toEqual([...before, ["write", STAYS]]);
  const [first, second] = await stepsOf("127.0.0.1:1,10.1.2.3:9092");
  expect(first).toEqual(["resolve", undefined]);
  expect(second).toEqual(["connect failed", expect.stringContaining("Broker 127.0.0.1:1: ")]);
});

test("an event that the broker refuses is a dead letter of a delivery that succeeds", async () => {
  const { address } = await startBroker(10);
  const reason = "The record is larger than the topic takes (topic events, error 10)";
  expect(await deliver({ brokers: address })).toEqual({
    ...{ kind: "delivered", refused: new Map([[0, reason]]) },
  });
});

test("brokers at an address that is not allowed reject the events", async () => {
  const verdict = await deliver({ brokers: "10.1.2.3:9092" });
  expect(verdict).toEqual({
    kind: "rejected",
    reason: expect.stringMatching(/^Broker 10\.1\.2\.3:9092: Requests must not reach/),
  });
});

test("a silent broker ends a delivery at its timeout, and its connection", async () => {
  const silent = new RawSink();
  const brokers = `127.0.0.1:${await silent.listen()}`;
  expect(await deliver({ brokers, timeoutMs: 30 })).toEqual({
    ...{ kind: "retry", reason: "No complete answer within 30 ms" },
  });
  expect(silent.connections).toBe(1);
  silent.close();
});

test("deliveries of a destination run one after the other, and a stopped one ends at once", async () => {
  const { address, got } = await startBroker();
  const open = kind.open({ brokers: address, topic: "events", tls: "off" }, "workspace");
  const texts = ["first", "second", "third"];
  const stopped = open.deliver(
    [outgoing({ text: "never" })],
    AbortSignal.abort(new Error("Stopped")),
  );
  const all = texts.map((text) => open.deliver([outgoing({ text })], signal));
  const closed = open.close();
  expect(await stopped).toEqual({ kind: "retry", reason: "Stopped" });
  expect(await Promise.all(all)).toEqual(texts.map(() => ({ kind: "delivered" })));
  await closed;
  const written = got
    .filter(({ key }) => key === PRODUCE)
    .map(({ request }) => /"text":"(\w+)"/.exec(String(request))?.[1]);
  expect(written).toEqual(texts);
});
