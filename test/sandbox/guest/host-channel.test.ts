import { afterAll, beforeEach, expect, spyOn, test } from "bun:test";
import fs from "node:fs";
import {
  receive,
  receiveResults,
  send,
  sendFrame,
} from "../../../src/sandbox/guest/host-channel.ts";
import { GUEST_FRAME_BYTES_MAX } from "../../../src/sandbox/guest-limits.ts";

const { readSync, writeSync } = fs;
/** Bytes that the host has sent, in the pieces in which the guest reads them. */
let arriving: Buffer[] = [];
let sent: Buffer[] = [];
/** Largest number of bytes that the socket takes at once. */
let taken = Number.POSITIVE_INFINITY;

fs.readSync = ((fd: number, into: Buffer, at: number, length: number) => {
  if (fd !== 0) throw new Error(`Expected a read of standard input, got one of ${fd}`);
  const piece = arriving.shift();
  if (piece === undefined) return 0;
  if (piece.length > length) arriving.unshift(piece.subarray(length));
  return piece.copy(into, at, 0, length);
}) as typeof fs.readSync;
fs.writeSync = ((fd: number, from: Buffer, at: number, length: number) => {
  if (fd !== 1) return writeSync(fd, from, at, length);
  const count = Math.min(length, taken);
  sent.push(Buffer.from(from.subarray(at, at + count)));
  return count;
}) as typeof fs.writeSync;
afterAll(() => Object.assign(fs, { readSync, writeSync }));
beforeEach(() => {
  arriving = [];
  sent = [];
  taken = Number.POSITIVE_INFINITY;
});

function frame(header: object, body: string | Buffer = ""): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), Buffer.from(body)]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function pieces(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

const read = (received: ReturnType<typeof receive>) =>
  received && [received.header, Buffer.from(received.body).toString()];

test("requests are read one after another, however they arrive", () => {
  const all = Buffer.concat([
    frame({ kind: "run", exchange: 1 }, "first"),
    frame({ kind: "run", exchange: 2 }),
    frame({ kind: "run", exchange: 3 }, "third\nä"),
  ]);
  for (const size of [1, 3, 7, all.length]) {
    arriving = pieces(all, size);
    expect(read(receive())).toEqual([{ kind: "run", exchange: 1 }, "first"]);
    expect(read(receive())).toEqual([{ kind: "run", exchange: 2 }, ""]);
    expect(read(receive())).toEqual([{ kind: "run", exchange: 3 }, "third\nä"]);
    expect(receive()).toBeUndefined();
  }
});

test("large requests are read whole, and small ones after them", () => {
  const large = (bytes: number) => frame({ exchange: bytes }, Buffer.alloc(bytes, "x"));
  const sizes = [900 << 10, 300 << 10, 3 << 20, 9 << 20, 5];
  arriving = pieces(Buffer.concat(sizes.map(large)), 200_000);
  for (const size of sizes) {
    const received = receive()!;
    expect(received.header).toEqual({ exchange: size });
    expect(received.body.length).toBe(size);
  }
});

test("a buffer of up to 8 MiB is kept for later requests, and a larger one is used once", () => {
  const made = spyOn(Buffer, "allocUnsafeSlow");
  const receiveOf = (bytes: number) => {
    arriving = [frame({ exchange: 1 }, Buffer.alloc(bytes, "x"))];
    made.mockClear();
    expect(receive()!.body.length).toBe(bytes);
    return made.mock.calls.length;
  };
  const [kept, large] = [7 << 20, 9 << 20];
  expect([receiveOf(kept), receiveOf(kept), receiveOf(5)]).toEqual([1, 0, 0]);
  expect([receiveOf(large), receiveOf(large), receiveOf(kept)]).toEqual([1, 1, 0]);
  made.mockRestore();
});

test("requests that arrive before the results of host calls are returned later", () => {
  arriving = pieces(
    Buffer.concat([
      frame({ kind: "run", exchange: 8 }, "early"),
      frame({ kind: "answers", exchange: 7 }, "results"),
      frame({ kind: "run", exchange: 9 }, "late"),
    ]),
    5,
  );
  expect(read(receiveResults())).toEqual([{ kind: "answers", exchange: 7 }, "results"]);
  expect(read(receive())).toEqual([{ kind: "run", exchange: 8 }, "early"]);
  send({ kind: "done" });
  expect(sent[0]!.subarray(4).toString()).toBe('{"kind":"done","exchange":8}\n');
  expect(read(receive())).toEqual([{ kind: "run", exchange: 9 }, "late"]);
  expect(receiveResults()).toBeUndefined();
});

test("a request above the largest size is refused before it is read", () => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(GUEST_FRAME_BYTES_MAX + 1);
  arriving = [length];
  expect(() => receive()).toThrow("Expected a frame within its limit");
});

test("each frame of the guest has the number of the request and texts apart by newlines", () => {
  send({ kind: "done" }, ["a", "", "ö"]);
  send({ kind: "ready" });
  const [one, two] = sent;
  expect(one!.subarray(4).toString()).toMatch(/^\{"kind":"done","exchange":\d+\}\na\n\nö$/);
  expect(one!.readUInt32LE()).toBe(one!.length - 4);
  expect(two!.subarray(4).toString()).toMatch(/^\{"kind":"ready","exchange":\d+\}\n$/);
});

test("a frame that the socket takes in parts is sent whole, also a large one", () => {
  taken = 1_000_000;
  const text = "€".repeat(1 << 20);
  send({ kind: "done" }, [text]);
  const whole = Buffer.concat(sent);
  expect(whole.readUInt32LE()).toBe(whole.length - 4);
  expect(whole.toString("utf8", whole.indexOf(0x0a) + 1)).toBe(text);
  sent = [];
  const bytes = Buffer.alloc(5 << 20, 7);
  sendFrame(bytes);
  const other = Buffer.concat(sent);
  expect(other.readUInt32LE()).toBe(bytes.length);
  expect(other.subarray(4).equals(bytes)).toBe(true);
});
