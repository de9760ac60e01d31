import { afterEach, expect, jest, onTestFinished, spyOn, test } from "bun:test";
import { Socket } from "node:net";
import { createEgress, networkReason, ResolutionFailed } from "../../src/egress/egress.ts";
import { REQUEST_HEAD_ROOM_BYTES } from "../../src/egress/http-client.ts";
import { IdleConnections } from "../../src/egress/idle-connections.ts";
import type { ReceiverConnection } from "../../src/egress/receiver-connection.ts";
import { failureOf, ok, requestTo } from "./request-client.ts";
import { RawSink } from "./sink.ts";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function setUp(answer = ok) {
  const sink = new RawSink((socket) => void socket.write(answer));
  const url = `http://127.0.0.1:${await sink.listen()}/`;
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  ends.push(egress.close, () => sink.close());
  return { sink, egress, url };
}

test.each([
  ["ECONNRESET", 200],
  ["EPIPE", 200],
  ["ETIMEDOUT", "ETIMEDOUT"],
] as const)(
  "a repeatable request that meets %s on a kept connection ends with %p",
  async (code, expected) => {
    const { egress, url } = await setUp();
    await egress.request(requestTo(url));
    const write = spyOn(Socket.prototype, "write").mockImplementationOnce(function (this: Socket) {
      this.destroy(Object.assign(new Error("Failed"), { code }));
      return false;
    } as never);
    onTestFinished(() => write.mockRestore());
    const second = egress.request(requestTo(url)).then(
      ({ status }) => status,
      (error) => error.code,
    );
    expect(await second).toBe(expected);
  },
);

test("a request whose stages are reported opens a connection of its own", async () => {
  const { egress, sink, url } = await setUp();
  const stages: string[] = [];
  const onStage = (stage: string) => void stages.push(stage);
  for (let n = 0; n < 2; n++) await egress.request({ ...requestTo(url), onStage });
  expect(stages).toEqual(["resolve", "connect", "resolve", "connect"]);
  expect(sink.connections).toBe(2);
});

test("a receiver that gives no response in time is reported as such", async () => {
  const { egress, url } = await setUp("");
  const late = egress.request({ ...requestTo(url), timeoutMs: 20 });
  expect(await failureOf(late)).toEqual(new Error("No complete answer within 20 ms"));
});

test("the head of a request is written into the room before its body, if it fits there", async () => {
  const { egress, sink, url } = await setUp();
  for (const [headerBytes, isFitting] of [
    [1, true],
    [REQUEST_HEAD_ROOM_BYTES, false],
  ] as const) {
    const memory = Buffer.alloc(REQUEST_HEAD_ROOM_BYTES + 5, "-");
    const body = memory.subarray(REQUEST_HEAD_ROOM_BYTES);
    body.set(Buffer.from("hello"));
    const request = requestTo(url, { "X-Long": "x".repeat(headerBytes) });
    await egress.request({ ...request, body, hasHeadRoom: true });
    const sent = sink.requests.at(-1)!;
    expect(sent).toStartWith("POST / HTTP/1.1\r\n");
    expect(sent).toEndWith("\r\nContent-Length: 5\r\n\r\nhello");
    const kept = memory.toString("latin1");
    const room = kept.slice(0, REQUEST_HEAD_ROOM_BYTES + 5 - (isFitting ? sent.length : 5));
    expect(room).toMatch(/^-+$/);
    expect(kept.endsWith(sent)).toBe(isFitting);
  }
});

test("a small body is sent in one piece with its head, and a large one is not copied", async () => {
  const { egress, url } = await setUp();
  const write = spyOn(Socket.prototype, "write");
  onTestFinished(() => write.mockRestore());
  const isWritten = async (bytes: number) => {
    const body = new Uint8Array(bytes);
    await egress.request({ ...requestTo(url), body });
    return write.mock.calls.some(([written]) => (written as unknown) === body);
  };
  expect([await isWritten(65_536), await isWritten(65_537)]).toEqual([false, true]);
});

/** Idle connections without sockets, and the names of those that were closed. */
function idleOf(max: number) {
  const idle = new IdleConnections(max);
  ends.push(() => idle.close());
  const closed: string[] = [];
  const connection = (name: string, key = "a", ca?: string) => {
    const it = {
      ...{ name, key, ca },
      destroy() {
        closed.push(name);
        idle.forget(this as unknown as ReceiverConnection);
      },
    };
    return it as unknown as ReceiverConnection;
  };
  const take = (key = "a", ca?: string) =>
    (idle.take(key, ca) as unknown as { name: string } | undefined)?.name;
  return { idle, closed, connection, take };
}

test("an idle connection that closes leaves the others of its receiver", () => {
  const { idle, connection, take } = idleOf(10);
  const first = connection("first");
  for (const one of [first, connection("second"), connection("third")]) idle.keep(one);
  first.destroy();
  // A connection that is not idle is none to forget.
  first.destroy();
  expect([take(), take(), take()]).toEqual(["third", "second", undefined]);
});

test("the idle connection that was kept first is closed for one too many, whosever it is", () => {
  const { idle, closed, connection, take } = idleOf(2);
  for (const [name, key] of Object.entries({ one: "a", two: "b", three: "b" })) {
    idle.keep(connection(name, key));
  }
  expect(closed).toEqual(["one"]);
  expect([take("a"), take("b"), take("b")]).toEqual([undefined, "three", "two"]);
});

test("an idle connection is taken by who trusts the same authority, for 60 s at most", () => {
  let now = 1_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const { idle, connection, take } = idleOf(10);
  idle.keep(connection("other", "a", "authority"));
  expect([take("a"), take("b", "authority"), take("a", "authority")]).toEqual([
    ...[undefined, undefined, "other"],
  ]);
  for (const [ms, longest] of [
    [5, 5],
    [100_000, 60_000],
    [undefined, 60_000],
  ] as const) {
    for (const isLate of [false, true]) {
      idle.keep(connection("one"), ms);
      now += isLate ? longest : longest - 1;
      expect([ms, take()]).toEqual([ms, isLate ? undefined : "one"]);
    }
  }
});

test("idle connections are closed when their time is over, until all are closed", () => {
  jest.useFakeTimers();
  let now = 1_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => {
    clock.mockRestore();
    jest.useRealTimers();
  });
  const { idle, closed, connection } = idleOf(10);
  idle.keep(connection("short"), 1_000);
  idle.keep(connection("long"), 2_000);
  const closedAt = [1_999, 2_000, 3_000].map((at) => {
    now = at;
    jest.advanceTimersByTime(1_000);
    return closed.splice(0);
  });
  expect(closedAt).toEqual([[], ["short"], ["long"]]);
  idle.close();
  expect(jest.getTimerCount()).toBe(0);
});

test("closing closes all idle connections", () => {
  const { idle, closed, connection } = idleOf(10);
  for (const name of ["one", "two"]) idle.keep(connection(name));
  idle.close();
  expect(closed).toEqual(["one", "two"]);
});

test.each([
  ["a thrown text", "text", "The request failed"],
  ["an error without a code", new Error("Own words"), "Own words"],
  [
    "a failed resolution",
    new ResolutionFailed("The name has no address", "ENOTFOUND"),
    "The name has no address (ENOTFOUND)",
  ],
  [
    "an error of the system",
    Object.assign(new Error("connect 10.0.0.1"), { code: "ECONNREFUSED" }),
    "The request failed: connection refused (ECONNREFUSED)",
  ],
  [
    "an expired certificate",
    Object.assign(new Error("at 10.0.0.1"), { code: "CERT_HAS_EXPIRED" }),
    "The server's certificate is not accepted: expired (CERT_HAS_EXPIRED)",
  ],
])("the reason of a failure that is %s is one line without addresses", (_, error, line) => {
  expect(networkReason(error)).toBe(line);
});
