import { afterEach, expect, jest, spyOn, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { BrokerConnection } from "../../src/destinations/kafka/broker-connection.ts";
import { KafkaFailure } from "../../src/destinations/kafka/failures.ts";
import { DATABASE_ANSWER_BYTES_MAX } from "../../src/destinations/limits.ts";
import { loadKafkaProtocol } from "../../src/kafka/library.ts";

const kafka = await loadKafkaProtocol();
const { Writer } = kafka;
const NO_BROKER = "The server does not answer as a Kafka broker does";

class FakeSocket extends EventEmitter {
  readonly written: Buffer[] = [];
  destroyed = 0;

  write(bytes: Buffer): void {
    this.written.push(bytes);
  }

  destroy(): void {
    this.destroyed += 1;
  }
}

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
/** The answer to the request with this id. */
const answer = (id: number, body: Uint8Array = Buffer.alloc(0)) =>
  Buffer.concat([int32(4 + body.length), int32(id), body]);
const text = (value: string) => Writer.create().appendString(value, false).buffer;

/** Lets the requests be written, which happens after their bodies are made. */
async function turn() {
  for (let n = 0; n < 10; n++) await undefined;
}

type Read = Parameters<BrokerConnection["send"]>[3];
const readText: Read = (id, key, version, reader) => [id, key, version, reader.readString(false)];

function setup(requestMs = 60_000) {
  const socket = new FakeSocket();
  const address = { host: "b", port: 9 };
  const connection = new BrokerConnection(kafka, socket as unknown as Socket, address, requestMs);
  let ends = 0;
  connection.onEnd = () => void ends++;
  /** Sends a request, and resolves with its answer or its error. */
  const ask = (over: { read?: Read; hasTags?: boolean; answerHasTags?: boolean } = {}) =>
    new Promise<unknown>((resolve) => {
      const { read = readText, hasTags = false, answerHasTags = false } = over;
      const make = () => Writer.create().appendString("body", false);
      connection.send(3, 7, make, read, hasTags, answerHasTags, (error, result) =>
        resolve(error ? error.message : result),
      );
    });
  const receive = (bytes: Buffer) => void socket.emit("data", bytes);
  return { socket, connection, ask, receive, ends: () => ends };
}

/** A connection to a broker that knows these versions of requests, by their numbers. */
async function negotiated(...known: [key: number, min: number, max: number][]) {
  const { connection, receive, ...rest } = setup();
  const agreed = connection.negotiateVersions();
  await turn();
  const body = Writer.create()
    .appendInt16(0)
    .appendArray(
      known,
      (to, [key, min, max]) => to.appendInt16(key).appendInt16(min).appendInt16(max),
      false,
      false,
    )
    .appendInt32(0);
  receive(answer(1, body.buffer));
  await agreed;
  return { connection, receive, ...rest };
}

afterEach(() => void jest.useRealTimers());

test("a request has its length, its kind and version, its number and the name of the client", async () => {
  const { socket, ask } = setup();
  void ask();
  void ask({ hasTags: true });
  await turn();
  const head = (id: number) => [
    "00030007",
    `0000000${id}`,
    "0009",
    Buffer.from("pixelmill").toString("hex"),
  ];
  const body = `0004${Buffer.from("body").toString("hex")}`;
  expect(socket.written.map((it) => it.toString("hex"))).toEqual([
    ["00000019", ...head(1), body].join(""),
    ["0000001a", ...head(2), "00", body].join(""),
  ]);
});

test("answers reach their requests in any order and in any pieces", async () => {
  const { ask, receive, connection } = setup();
  const asked = [ask(), ask({ answerHasTags: true }), ask()];
  await turn();
  const tagged = Buffer.concat([Buffer.alloc(1), text("second")]);
  const all = Buffer.concat([
    answer(3, text("third")),
    answer(1, text("first")),
    answer(2, tagged),
  ]);
  for (let at = 0; at < all.length; at += 5) receive(all.subarray(at, at + 5));
  expect(await Promise.all(asked)).toEqual([
    [1, 3, 7, "first"],
    [2, 3, 7, "second"],
    [3, 3, 7, "third"],
  ]);
  expect(connection.isOpen).toBe(true);
});

test("an answer to no request ends the connection, and all requests with it", async () => {
  const { ask, receive, connection, socket, ends } = setup();
  const asked = [ask(), ask()];
  await turn();
  receive(answer(1, text("first")));
  receive(answer(1, text("again")));
  expect(await Promise.all(asked)).toEqual([[1, 3, 7, "first"], NO_BROKER]);
  expect(await ask()).toBe(NO_BROKER);
  connection.destroy(new KafkaFailure("soon", "Another reason"));
  expect(await ask()).toBe(NO_BROKER);
  expect([connection.isOpen, socket.destroyed, ends(), socket.written.length]).toEqual([
    ...[false, 1, 1, 2],
  ]);
});

test("an answer that cannot be read ends the connection", async () => {
  const { ask, receive, connection } = setup();
  const asked = [ask(), ask()];
  await turn();
  receive(answer(1, Buffer.from([0, 9])));
  expect(await Promise.all(asked)).toEqual([NO_BROKER, NO_BROKER]);
  expect(connection.isOpen).toBe(false);
});

test("an answer with an error code is an error of its request alone", async () => {
  const { ask, receive, connection } = setup();
  const failed = new kafka.ResponseError(3, 7, { "/": [29, null] }, {});
  const read: Read = () => {
    throw failed;
  };
  const asked = [ask({ read }), ask()];
  await turn();
  receive(answer(1));
  receive(answer(2, text("second")));
  expect(await Promise.all(asked)).toEqual([failed.message, [2, 3, 7, "second"]]);
  expect(connection.isOpen).toBe(true);
});

test("a request that exceeds its time limit ends the connection, and an answered request does not", async () => {
  jest.useFakeTimers();
  const { ask, receive, connection, socket } = setup(50);
  const first = ask();
  await turn();
  jest.advanceTimersByTime(49);
  receive(answer(1, text("first")));
  expect(await first).toEqual([1, 3, 7, "first"]);
  jest.advanceTimersByTime(100);
  expect(connection.isOpen).toBe(true);
  const second = ask();
  await turn();
  jest.advanceTimersByTime(49);
  expect(connection.isOpen).toBe(true);
  jest.advanceTimersByTime(1);
  expect(await second).toBe("No answer of the broker within 50 ms");
  expect([connection.isOpen, socket.destroyed]).toEqual([false, 1]);
});

test.each([
  [0, "The broker closed the connection"],
  [1, "The broker closed the connection; it may require a user"],
  [2, "The broker closed the connection"],
])(
  "a broker that closes the connection after %d answers is known by that",
  async (count, reason) => {
    const { ask, receive, socket } = setup();
    for (let id = 1; id <= count; id++) {
      const asked = ask();
      await turn();
      receive(answer(id, text("x")));
      await asked;
    }
    const last = ask();
    await turn();
    socket.emit("close");
    expect(await last).toBe(reason);
  },
);

test("a connection is open until its session ends", () => {
  const { connection } = setup();
  expect(connection.isOpen).toBe(true);
  const clock = spyOn(performance, "now").mockReturnValue(1_000);
  try {
    connection.expiresAt = 1_001;
    expect(connection.isOpen).toBe(true);
    connection.expiresAt = 1_000;
    expect(connection.isOpen).toBe(false);
  } finally {
    clock.mockRestore();
  }
});

test("the length of an answer is bounded, and it has at least the number of its request", () => {
  for (const [length, isOpen] of [
    [3, false],
    [4, true],
    [DATABASE_ANSWER_BYTES_MAX, true],
    [DATABASE_ANSWER_BYTES_MAX + 1, false],
  ] as const) {
    const { connection, receive } = setup();
    receive(int32(length).subarray(0, 3));
    expect(connection.isOpen).toBe(true);
    receive(int32(length).subarray(3));
    expect([length, connection.isOpen]).toEqual([length, isOpen]);
  }
});

test("requests are sent in the newest version that the broker and the library know", async () => {
  const [PRODUCE, METADATA, INIT_PRODUCER_ID] = [0, 3, 22] as const;
  const { connection } = await negotiated(
    [PRODUCE, 0, 8],
    [METADATA, 0, 99],
    [INIT_PRODUCER_ID, 100, 200],
  );
  expect(connection.newestVersion<unknown>("produce")).toBe(kafka.produceV8.api);
  expect(connection.newestVersion<unknown>("metadata")).toBe(kafka.metadataV12.api);
  for (const name of ["initProducerId", "saslAuthenticate"]) {
    const title = `${name[0]!.toUpperCase()}${name.slice(1)}`;
    expect(() => connection.newestVersion(name)).toThrow(
      `The broker's versions of ${title} are not supported`,
    );
  }
  const only = await negotiated([METADATA, 9, 9]);
  expect(only.connection.newestVersion<unknown>("metadata")).toBe(kafka.metadataV9.api);
});

test("an error code stays the library's error, and any other error names the broker", async () => {
  const { connection } = await negotiated([3, 0, 12]);
  const failed = new kafka.ResponseError(3, 12, { "/": [29, null] }, {});
  const failure = (error: Error) =>
    connection.exchange("metadata", () => Promise.reject(error)).catch((thrown) => thrown);
  expect(await failure(failed)).toBe(failed);
  const other = await failure(new KafkaFailure("soon", "It broke", { code: "7" }));
  expect([other.outlook, other.message, other.answer]).toEqual([
    ...["soon", "Broker b:9: It broke", { code: "7" }],
  ]);
  const result = await connection.exchange("metadata", async (api, over) => [api, over]);
  expect(result as unknown).toEqual([kafka.metadataV12.api, connection]);
});
