import { expect, test } from "bun:test";
import { pino } from "pino";
import { transform } from "../../src/pipeline/transforming/transform.ts";
import { FakeLive, FakeSandbox, laneEvent } from "./doubles.ts";

test("an output that waits does not keep the guest's whole answer in memory", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "version");
  const answer = Buffer.alloc(1 << 20, '{"n":1}');
  const event = laneEvent();
  const sandbox = new FakeSandbox();
  sandbox.run = async () => [{ events: [answer.subarray(0, 7), answer.subarray(7, 14)] }];
  const context = {
    ...{ live, sandbox, logger: pino({ level: "silent" }) },
    destination: () => live.destinations.get("one")!,
    running: () => true,
    random: () => 0,
    removeOverrides: (event: Uint8Array) => event,
    pause: async () => {},
    unlessStopped: async <T>(work: Promise<T>) => work,
    setWaiting: () => {},
    onRun: () => {},
  };
  const result = (await transform(context, [event]))![0]!;
  const outputs = "outputs" in result ? result.outputs : [];
  expect(outputs.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['{"n":1}', '{"n":1}']);
  for (const { bytes } of outputs) expect(bytes.buffer.byteLength).toBe(7);
});
