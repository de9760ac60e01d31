import { afterEach, expect, test } from "bun:test";
import { createServer, type Server } from "node:net";
import { KafkaAnswerError } from "../../src/kafka/bounded-reader.ts";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";

const kafka = await loadKafkaLibrary();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Sends a request over the library's connection to a broker that writes `answer`. */
async function request<T>(
  answer: (id: Buffer) => Buffer,
  ask: (connection: InstanceType<typeof kafka.Connection>) => Promise<T>,
) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => socket.write(answer(bytes.subarray(8, 12))));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connection = new kafka.Connection("test", { requestTimeout: 60_000 });
  connection.on("error", () => {});
  await connection.connect("127.0.0.1", (server.address() as { port: number }).port);
  try {
    return await ask(connection);
  } finally {
    connection.socket.destroy();
  }
}

const framed = (id: Buffer, hex: string) => {
  const body = Buffer.concat([id, Buffer.from(hex, "hex")]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
};

test.each([
  ["a negative length", (id: Buffer) => Buffer.concat([Buffer.from("fffffffa", "hex"), id, id])],
  ["a length without a request", () => Buffer.from("0000000000000000", "hex")],
])("%s ends the connection of a node, not the process", async (_, answer) => {
  const asked = request(answer, (to) => kafka.metadataV12.api.async(to, ["t"]));
  const error = await asked.then(
    () => undefined,
    (reason: Error) => reason.message,
  );
  expect(error).toBe("Connection closed");
});

test("tagged fields that lead back are refused on a connection of a node", async () => {
  const broker = "0000000102780000238400";
  const hex = `000000000002${broker}${"ffffffff0700faffffff0f".padEnd(60, "0")}`;
  const asked = request(
    (id) => framed(id, hex),
    (to) => kafka.metadataV12.api.async(to, ["t"]),
  );
  await expect(asked).rejects.toBeInstanceOf(KafkaAnswerError);
});

test("an assignment that cannot be decoded is an error of its request", async () => {
  // Null protocol type and name, and an assignment of 2 billion topics.
  const hex = "00" + "00000000" + "0000" + "00" + "00" + "07" + "00037fffffff" + "00";
  const asked = request(
    (id) => framed(id, hex),
    (to) => kafka.syncGroupV5.api.async(to, "g", 1, "m", null, "consumer", "sticky", []),
  );
  await expect(asked).rejects.toBeInstanceOf(KafkaAnswerError);
});

test("a broker that expects TLS is known by its alert, and only by its first answer", async () => {
  const alert = Buffer.from("15030100020228", "hex");
  for (const [answer, message] of [
    [() => alert, "Broker requires TLS."],
    [() => Buffer.concat([Buffer.from([0x14]), alert]), "Connection closed"],
    [() => Buffer.concat([Buffer.from([0x15, 0x04]), alert]), "Connection closed"],
    [(id: Buffer) => Buffer.concat([framed(id, "00"), alert]), "Connection closed"],
  ] as const) {
    const asked = request(answer, (to) => kafka.metadataV12.api.async(to, ["t"]));
    await expect(asked).rejects.toThrow(message);
  }
});
