import { expect, test } from "bun:test";
import { pino } from "pino";
import { transform } from "../../src/pipeline/transforming/transform.ts";
import { FakeLive, FakeSandbox } from "./doubles.ts";

test("an output that waits does not hold the answer of the guest that it came in", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "version");
  const answer = Buffer.alloc(1 << 20, '{"n":1}');
  const input = {
    ...{ messageId: "m", sourceId: "source", receivedAt: 0, type: "track" },
    event: { json: Buffer.from("{}"), user: "u", userId: "u", anonymousId: "" },
  };
  const origin = { log: "0", sequence: 0, connectionId: "c" };
  const item = { input, origin, bornAt: 0, bytes: 2, open: 0, letters: [] };
  const sandbox = new FakeSandbox();
  sandbox.run = async () => [{ events: [answer.subarray(0, 7), answer.subarray(7, 14)] }];
  const host = {
    ...{ live, sandbox, logger: pino({ level: "silent" }) },
    destination: () => live.destinations.get("one")!,
    running: () => true,
    random: () => 0,
    withhold: (event: Uint8Array) => event,
    pause: async () => {},
    unlessEnding: async <T>(work: Promise<T>) => work,
    waiting: () => {},
    ran: () => {},
  };
  const made = (await transform(host, [item]))!.get(item)!;
  const outputs = "outputs" in made ? made.outputs : [];
  expect(outputs.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['{"n":1}', '{"n":1}']);
  for (const { bytes } of outputs) expect(bytes.buffer.byteLength).toBe(7);
});
