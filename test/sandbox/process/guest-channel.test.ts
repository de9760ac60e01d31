import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { InvariantError } from "../../../src/assert.ts";
import { type ExchangeLimits, GuestChannel } from "../../../src/sandbox/process/guest-channel.ts";
import {
  decodeFrame,
  GuestFrameError,
  GuestFrameWriter,
} from "../../../src/sandbox/protocol/guest-frames.ts";
import { until } from "../../until.ts";

let now: number;
let clock: ReturnType<typeof spyOn>;
beforeEach(() => {
  now = 1_000;
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => clock.mockRestore());

const limits: ExchangeLimits = { cpuMs: 1, wallMs: 1, replyBytesMax: 1_000 };

/** A channel to a guest without a process: what it was sent, and why it was killed. */
function channelOf(send: () => void = () => {}) {
  const sent: { header: any; body: string }[] = [];
  const kills: unknown[][] = [];
  const channel = new GuestChannel(
    (bytes) => {
      send();
      const { header, body } = decodeFrame(Buffer.from(bytes.subarray(4)));
      sent.push({ header, body: body.toString() });
    },
    (cause, fault) => {
      kills.push(fault === undefined ? [cause] : [cause, fault]);
      channel.close(cause, fault);
    },
  );
  /** Sends a request, and returns how it ends. */
  const ask = (more: Partial<ExchangeLimits> = {}) => {
    const asked = channel.request({ kind: "inspect", code: "c" }, ["[]"], { ...limits, ...more });
    const state: { end?: unknown } = {};
    asked.then(
      ({ header, body }) => Object.assign(state, { end: [header, body.toString()] }),
      (error) => Object.assign(state, { end: error }),
    );
    return state;
  };
  /** Frame of the guest in the exchange of the request `at`. */
  const frame = (at: number, header: object = {}, body = "") => {
    const { exchange } = sent[at]!.header;
    return Buffer.from(new GuestFrameWriter().write({ exchange, ...header }, [body]));
  };
  return { channel, sent, kills, ask, frame };
}

const settled = () => Bun.sleep(0);

/** Frame with a header of any JSON text, and no body. */
function rawFrame(header: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length + 1);
  return Buffer.concat([length, Buffer.from(`${header}\n`)]);
}

test("replies settle requests in their order, and the time of the next begins with them", async () => {
  const { channel, sent, ask, frame } = channelOf();
  const [first, second] = [ask(), ask()];
  expect(sent.map(({ header, body }) => [header.kind, header.code, body])).toEqual(
    Array(2).fill(["inspect", "c", "[]"]),
  );
  expect(channel.current?.startedAt).toBe(1_000);
  now = 1_500;
  channel.receive(frame(0, { a: 1 }, "body"));
  await settled();
  expect([first.end, second.end]).toEqual([
    [{ exchange: sent[0]!.header.exchange, a: 1 }, "body"],
    undefined,
  ]);
  expect(channel.current?.startedAt).toBe(1_500);
  const [third] = [ask()];
  const both = Buffer.concat([frame(1), frame(2)]);
  for (const part of [both.subarray(0, 7), both.subarray(7)]) channel.receive(part);
  await settled();
  expect([second.end, third.end].map((end) => Array.isArray(end))).toEqual([true, true]);
  expect(channel.current).toBeUndefined();
});

describe("a guest that breaks the protocol", () => {
  const faults: [
    what: string,
    bytes: (frame: (at: number, header?: object) => Buffer) => Buffer,
  ][] = [
    ["answers another exchange", (frame) => frame(0, { exchange: -1 })],
    [
      "answers more than it was asked",
      (frame) => Buffer.concat([frame(0), frame(1), Buffer.from("x")]),
    ],
    ["answers too much", (frame) => frame(0, { text: "x".repeat(1_000) })],
    ["answers in the exchange of the next request", (frame) => frame(1)],
    ["answers nothing", () => rawFrame("null")],
    ["answers a text", () => rawFrame('"text"')],
  ];
  test.each(faults)("is not believed when it %s, nor before that", async (_, bytes) => {
    const { channel, kills, ask, frame } = channelOf();
    const [first, second] = [ask(), ask()];
    expect(() => channel.receive(bytes(frame))).toThrow(GuestFrameError);
    await settled();
    expect([first.end, second.end]).toEqual([undefined, undefined]);
    channel.close("violation");
    await settled();
    expect([first.end, second.end]).toMatchObject([{ end: "violation" }, { end: "retired" }]);
    expect(kills).toEqual([]);
  });

  test("is one that speaks unasked", () => {
    const { channel } = channelOf();
    expect(() => channel.receive(new Uint8Array(1))).toThrow("Expected no frame without a request");
  });
});

test("a request that a guest never got did not end it", async () => {
  const { channel, kills, ask } = channelOf(() => {
    throw new Error("closed");
  });
  const request = ask();
  await settled();
  expect(request.end).toMatchObject({ end: "retired" });
  expect([kills, channel.current]).toEqual([[["crash"]], undefined]);
});

test("time in which a guest could not run is added, up to now, unless it waits for the server", () => {
  const { channel, ask } = channelOf();
  channel.extendDeadline(1);
  ask();
  now = 1_100;
  channel.extendDeadline(60);
  expect(channel.current?.startedAt).toBe(1_060);
  channel.extendDeadline(60);
  expect(channel.current?.startedAt).toBe(1_100);
  channel.current!.waitingSince = now;
  now = 1_200;
  channel.extendDeadline(60);
  expect(channel.current?.startedAt).toBe(1_100);
});

describe("host calls", () => {
  /** Host functions that answer `results`, or fail, once the test says so. */
  const hostCallsOf = () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const asked: string[] = [];
    const exchange = (calls: Buffer) => {
      asked.push(calls.toString());
      return promise;
    };
    return { asked, resolve, reject, hostCalls: { exchange } as never };
  };

  test("are answered, and the time in which the guest waits for them does not count", async () => {
    const { channel, sent, kills, ask, frame } = channelOf();
    const { asked, resolve, hostCalls } = hostCallsOf();
    const request = ask({ hostCalls });
    channel.receive(frame(0, { kind: "wait" }, "calls"));
    expect(asked).toEqual(["calls"]);
    expect(channel.current?.waitingSince).toBe(1_000);
    expect(() => channel.receive(frame(0))).toThrow(GuestFrameError);
    now = 1_700;
    resolve("[1]");
    await until(() => sent.length === 2);
    expect(sent[1]).toEqual({ header: { kind: "answers" }, body: "[1]" });
    expect([channel.current?.waitingSince, channel.current?.startedAt]).toEqual([undefined, 1_700]);
    channel.receive(frame(0, { done: true }));
    await settled();
    expect(request.end).toEqual([{ exchange: sent[0]!.header.exchange, done: true }, ""]);
    expect(kills).toEqual([]);
  });

  test("of a guest that has ended meanwhile are not answered", async () => {
    const { channel, sent, kills, ask, frame } = channelOf();
    const { resolve, hostCalls } = hostCallsOf();
    ask({ hostCalls });
    channel.receive(frame(0, { kind: "wait" }));
    channel.close("memory");
    resolve("[1]");
    await settled();
    expect([sent.length, kills]).toEqual([1, []]);
  });

  test("that are not allowed, or fail, end the guest with their cause", async () => {
    const fault = new InvariantError("Broken invariant: a test's own");
    const failures: [error: Error | undefined, kill: unknown[], end: object][] = [
      [undefined, ["violation"], { end: "violation" }],
      [new GuestFrameError("calls"), ["violation"], { end: "violation" }],
      [new Error("lost"), ["crash"], { end: "crash" }],
      [fault, ["retired", fault], fault],
    ];
    for (const [error, kill, end] of failures) {
      const { channel, kills, ask, frame } = channelOf();
      const { reject, hostCalls } = hostCallsOf();
      const request = ask(error === undefined ? {} : { hostCalls });
      channel.receive(frame(0, { kind: "wait" }));
      if (error !== undefined) reject(error);
      await settled();
      expect(kills).toEqual([kill]);
      expect(request.end).toMatchObject(end);
    }
  });
});
