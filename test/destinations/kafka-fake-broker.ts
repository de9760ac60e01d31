import { afterEach } from "bun:test";
import { createServer, type Server } from "node:net";
import { Writer } from "@platformatic/kafka";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { outgoing } from "./outgoing.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Kafka's numbers of requests. */
export const [PRODUCE, METADATA, HANDSHAKE, VERSIONS, INIT_PRODUCER, AUTHENTICATE] = [
  ...([0, 3, 17, 18, 22, 36] as const),
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

/** InitProducerId response with the producer id 1. */
export const producerIdAnswer = Writer.create()
  .appendTaggedFields()
  .appendInt32(0)
  .appendInt16(0)
  .appendInt64(1n)
  .appendInt16(0)
  .appendTaggedFields().buffer;

/**
 * Metadata response that lists brokers with their ids and addresses, and names the leader of the
 * only partition of the topic `events`.
 */
export const metadataAnswer = (
  brokers: readonly (readonly [id: number, address: string])[],
  { leader, epoch }: { leader: number; epoch: number },
) =>
  Writer.create()
    .appendTaggedFields()
    .appendInt32(0)
    .appendArray([...brokers], (to, [id, address]) =>
      to
        .appendInt32(id)
        .appendString("127.0.0.1")
        .appendInt32(Number(address.split(":")[1]))
        .appendString(null),
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
            .appendInt32(leader)
            .appendInt32(epoch)
            .appendArray([1], (to, id) => to.appendInt32(id), true, false)
            .appendArray([1], (to, id) => to.appendInt32(id), true, false)
            .appendArray([], () => {}, true, false),
        )
        .appendInt32(0),
    )
    .appendTaggedFields().buffer;

/** Produce response with an error code, or with 0 for a batch that was written. */
export const produceAnswer = (code: number) =>
  Writer.create()
    .appendTaggedFields()
    .appendArray(["events"], (to, name) =>
      to.appendString(name).appendArray([0], (to, index) =>
        to
          .appendInt32(index)
          .appendInt16(code)
          .appendInt64(-1n)
          .appendInt64(-1n)
          .appendInt64(-1n)
          .appendArray([], () => {})
          .appendString(null),
      ),
    )
    .appendInt32(0)
    .appendTaggedFields().buffer;

/**
 * Fake broker: negotiates versions like a broker, and answers each request with a given response.
 * Resolves with its address.
 */
export async function listen(
  answer: (key: number, request: Buffer) => Uint8Array,
): Promise<string> {
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
export async function deliver(config: Record<string, unknown>) {
  const egress = createEgress({ allow: ["127.0.0.1/32"] });
  const kind: DestinationKind = kafkaKind(egress);
  const open = kind.open({ tls: "off", topic: "events", ...config }, "workspace");
  try {
    return await open.deliver([outgoing({ userId: "u" })], new AbortController().signal);
  } finally {
    await open.close();
    egress.close();
  }
}
