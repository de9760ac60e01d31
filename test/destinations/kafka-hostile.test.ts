import { expect, setDefaultTimeout, test } from "bun:test";
import { Writer } from "@platformatic/kafka";
import fc from "fast-check";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { ScramDerivations } from "../../src/destinations/scram-keys.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { RawSink } from "../egress/sink.ts";
import {
  deliver,
  HANDSHAKE,
  listen,
  METADATA,
  metadataAnswer,
  PRODUCE,
  produceAnswer,
  producerIdAnswer,
} from "./kafka-fake-broker.ts";
import { outgoing } from "./outgoing.ts";

setDefaultTimeout(300_000);

/** SaslHandshake response with one mechanism. */
const mechanisms = Writer.create()
  .appendInt16(0)
  .appendArray(["SCRAM-SHA-512"], (to, name) => to.appendString(name, false), false, false).buffer;

/** SaslAuthenticate response with the broker's message. */
const authentication = (text: string) =>
  Writer.create()
    .appendTaggedFields()
    .appendInt16(0)
    .appendString(null)
    .appendBytes(Buffer.from(text))
    .appendInt64(0n)
    .appendTaggedFields().buffer;

test("whatever a broker answers, an attempt ends with a sentence", async () => {
  const bytes = fc.uint8Array({ maxLength: 400 });
  let body: Uint8Array = new Uint8Array();
  const brokers = await listen(() => body);
  await fc.assert(
    fc.asyncProperty(bytes, async (random) => {
      body = random;
      const verdict = await deliver({ brokers, timeoutMs: 2_000 });
      expect(verdict).toMatchObject({ kind: "retry", reason: expect.stringMatching(/^[A-Z]/) });
    }),
    { numRuns: 60 },
  );
});

/** A Metadata answer of one broker whose next bytes are `rest`. */
const metadata = (count: string, rest: string) =>
  Buffer.from(`0000000000${count}0000000102780000238400${rest}`.padEnd(120, "0"), "hex");

test.each([
  ["tagged fields of which each leads back", metadata("02", "ffffffff0700faffffff0f")],
  ["brokers of which each leads back", metadata("ffffffff07", "000000000002f1ffffff0f")],
])("an answer with 2 billion %s is refused", async (_, answer) => {
  const brokers = await listen((key) => (key === METADATA ? answer : producerIdAnswer));
  expect(await deliver({ brokers })).toEqual({
    kind: "retry",
    reason: `Broker ${brokers}: The server does not answer as a Kafka broker does`,
  });
});

const NO_BROKER = "The server does not answer as a Kafka broker does";
test.each([
  [
    "an alert of TLS",
    "\x15\x03\x03\0\x02\x02\x46",
    "The broker requires TLS; set `tls` to `verify`",
  ],
  ["another record of TLS", "\x16\x03\x03\0\x02\x02\x46", NO_BROKER],
  ["an alert of another protocol", "\x15\x04\x03\0\x02\x02\x46", NO_BROKER],
  ["a length that is too short", "\0\0\0\x03abc", NO_BROKER],
  ["HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", NO_BROKER],
])("a server that answers with %s is no plain broker", async (_, answer, reason) => {
  const sink = new RawSink((socket) => socket.write(answer, "latin1"));
  const brokers = `127.0.0.1:${await sink.listen()}`;
  const verdict = await deliver({ brokers });
  sink.close();
  expect(verdict).toEqual({ kind: "retry", reason: `Broker ${brokers}: ${reason}` });
});

test("a step of signing in with a long answer is refused", async () => {
  const brokers = await listen((key) =>
    key === HANDSHAKE
      ? mechanisms
      : Writer.create()
          .appendTaggedFields()
          .appendInt16(0)
          .appendString(null)
          .appendBytes(Buffer.alloc(900_000, "x"))
          .appendInt64(0n)
          .appendTaggedFields().buffer,
  );
  const verdict = await deliver({ brokers, user: "u", password: "p" });
  expect(verdict).toMatchObject({ kind: "retry", reason: expect.stringContaining("Broker") });
});

test("a topic that the user may not write to is asked for once in an attempt", async () => {
  let produced = 0;
  const brokers = await listen((key) => {
    if (key === PRODUCE) produced += 1;
    if (key === PRODUCE) return produceAnswer(29);
    return key === METADATA
      ? metadataAnswer([[1, brokers]], { leader: 1, epoch: 0 })
      : producerIdAnswer;
  });
  expect(await deliver({ brokers })).toEqual({
    kind: "retry",
    reason: "The user may not write to the topic (topic events, error 29)",
    answer: { code: "29" },
  });
  expect(produced).toBe(1);
});

test("an answer that is too long is not kept in memory", async () => {
  const brokers = await listen(() => Buffer.alloc(2 << 20));
  expect(await deliver({ brokers })).toEqual({
    kind: "retry",
    reason: `Broker ${brokers}: The server does not answer as a Kafka broker does`,
  });
});

test.each([
  [1_000_000_000, "Expected at most 200000 iterations of SCRAM"],
  [
    1,
    "Signing in failed: Algorithm SHA-512 requires at least 4096 iterations, while 1 were requested",
  ],
] as const)("a broker that asks for %d iterations of SCRAM is refused", async (count, reason) => {
  const brokers = await listen((key, request) => {
    if (key === HANDSHAKE) return mechanisms;
    const nonce = /r=([^,\0]+)/.exec(request.toString("latin1"))?.[1] ?? "";
    const challenge = `r=${nonce}x,s=${Buffer.from("salt").toString("base64")},i=${count}`;
    return authentication(challenge);
  });
  const verdict = await deliver({ brokers, user: "u", password: "p" });
  expect(verdict).toEqual({ kind: "retry", reason: `Broker ${brokers}: ${reason}` });
});

test("a broker that asks for another salt each time gets one key of a workspace at a time", async () => {
  let running = 0;
  let most = 0;
  let count = 0;
  const derivations = new ScramDerivations(async ({ salt }) => {
    count += 1;
    most = Math.max(most, ++running);
    await Bun.sleep(5);
    running -= 1;
    return Buffer.from(salt);
  }, 4);
  const brokers = await listen((key, request) => {
    if (key === HANDSHAKE) return mechanisms;
    const nonce = /r=([^,\0]+)/.exec(request.toString("latin1"))?.[1] ?? "";
    const salt = Buffer.from(crypto.randomUUID()).toString("base64");
    return authentication(`r=${nonce}x,s=${salt},i=4096`);
  });
  const egress = createEgress({ allow: ["127.0.0.1/32"] });
  const kind: DestinationKind = kafkaKind(egress, derivations);
  const config = { tls: "off", topic: "events", brokers, user: "u", password: "p" };
  const opens = Array.from({ length: 8 }, () => kind.open(config, "workspace"));
  const { signal } = new AbortController();
  const verdicts = await Promise.all(
    opens.map((open) => open.deliver([outgoing({ userId: "u" })], signal)),
  );
  expect(new Set(verdicts.map((verdict) => verdict.kind))).toEqual(new Set(["retry"]));
  expect([most, count]).toEqual([1, 8]);
  for (const open of opens) await open.close();
  egress.close();
});
