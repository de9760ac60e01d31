import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { createServer, type Server } from "node:net";
import { Writer } from "@platformatic/kafka";
import fc from "fast-check";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { ScramDerivations } from "../../src/destinations/scram-keys.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { outgoing } from "./outgoing.ts";

setDefaultTimeout(300_000);

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const [PRODUCE, METADATA, HANDSHAKE, VERSIONS, INIT_PRODUCER, AUTHENTICATE] = [
  0, 3, 17, 18, 22, 36,
];

/** ApiVersions response of a current broker. */
const greeting = Writer.create()
  .appendInt16(0)
  .appendArray(
    [
      [PRODUCE, 11],
      [METADATA, 12],
      [HANDSHAKE, 1],
      [INIT_PRODUCER, 5],
      [AUTHENTICATE, 2],
    ],
    (to, [key, version]) => to.appendInt16(key!).appendInt16(0).appendInt16(version!),
    false,
    false,
  )
  .appendInt32(0).buffer;

/** SaslHandshake response with one mechanism. */
const mechanisms = Writer.create()
  .appendInt16(0)
  .appendArray(["SCRAM-SHA-512"], (to, name) => to.appendString(name, false), false, false).buffer;

/** InitProducerId response with the producer id 1. */
const producerAnswer = Writer.create()
  .appendTaggedFields()
  .appendInt32(0)
  .appendInt16(0)
  .appendInt64(1n)
  .appendInt16(0)
  .appendTaggedFields().buffer;

/** SaslAuthenticate response with the broker's message. */
const authentication = (text: string) =>
  Writer.create()
    .appendTaggedFields()
    .appendInt16(0)
    .appendString(null)
    .appendBytes(Buffer.from(text))
    .appendInt64(0n)
    .appendTaggedFields().buffer;

/**
 * Fake broker: negotiates versions like a broker, and answers each request with a given response.
 */
async function listen(answer: (key: number, request: Buffer) => Uint8Array): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (request: Buffer) => {
      const key = request.readInt16BE(4);
      const body = key === VERSIONS ? greeting : answer(key, request);
      const head = Buffer.alloc(8);
      head.writeInt32BE(4 + body.length);
      request.copy(head, 4, 8, 12);
      socket.write(Buffer.concat([head, body]));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** One delivery; a broker that names addresses may name those of this machine alone. */
async function deliver(config: Record<string, unknown>) {
  const egress = createEgress({ allow: ["127.0.0.1/32"] });
  const open = kafkaKind(egress).open({ tls: "off", topic: "events", ...config }, "workspace");
  try {
    return await open.deliver([outgoing({ userId: "u" })], new AbortController().signal);
  } finally {
    await open.close();
    egress.close();
  }
}

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

/** Metadata response of one broker, which leads the only partition of the topic `events`. */
const topicAt = (port: number) =>
  Writer.create()
    .appendTaggedFields()
    .appendInt32(0)
    .appendArray([port], (to) =>
      to.appendInt32(1).appendString("127.0.0.1").appendInt32(port).appendString(null),
    )
    .appendString(null)
    .appendInt32(1)
    .appendArray(["events"], (to, name) =>
      to
        .appendInt16(0)
        .appendString(name)
        .appendUUID("00000000-0000-0000-0000-000000000007")
        .appendBoolean(false)
        .appendArray([0], (to) =>
          to
            .appendInt16(0)
            .appendInt32(0)
            .appendInt32(1)
            .appendInt32(0)
            .appendArray([1], (to, id) => to.appendInt32(id), true, false)
            .appendArray([1], (to, id) => to.appendInt32(id), true, false)
            .appendArray([], () => {}, true, false),
        )
        .appendInt32(0),
    )
    .appendTaggedFields().buffer;

/** Produce response that refuses the topic for lack of permission. */
const refusedProduce = Writer.create()
  .appendTaggedFields()
  .appendArray(["events"], (to, name) =>
    to.appendString(name).appendArray([0], (to, index) =>
      to
        .appendInt32(index)
        .appendInt16(29)
        .appendInt64(-1n)
        .appendInt64(-1n)
        .appendInt64(-1n)
        .appendArray([], () => {})
        .appendString(null),
    ),
  )
  .appendInt32(0)
  .appendTaggedFields().buffer;

/** A Metadata answer of one broker whose next bytes are `rest`. */
const metadata = (count: string, rest: string) =>
  Buffer.from(`0000000000${count}0000000102780000238400${rest}`.padEnd(120, "0"), "hex");

test.each([
  ["tagged fields of which each leads back", metadata("02", "ffffffff0700faffffff0f")],
  ["brokers of which each leads back", metadata("ffffffff07", "000000000002f1ffffff0f")],
])("an answer with 2 billion %s is refused", async (_, answer) => {
  const brokers = await listen((key) => (key === METADATA ? answer : producerAnswer));
  expect(await deliver({ brokers })).toEqual({
    kind: "retry",
    reason: `Broker ${brokers}: The server does not answer as a Kafka broker does`,
  });
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
    if (key === PRODUCE) return refusedProduce;
    return key === METADATA ? topicAt(Number(brokers.split(":")[1])) : producerAnswer;
  });
  expect(await deliver({ brokers })).toEqual({
    kind: "retry",
    reason: "The user may not write to the topic (topic events, error 29)",
  });
  expect(produced).toBe(1);
});

test("an answer that is too long is not held", async () => {
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
  const kind = kafkaKind(egress, derivations);
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
