import { expect, test } from "bun:test";
import { GUEST_ANSWER_OUTPUTS_MAX } from "../../../src/sandbox/guest-limits.ts";
import {
  decodeGuestReply,
  GuestFrameError,
  GuestFrameReader,
} from "../../../src/sandbox/protocol/guest-frames.ts";
import { parseRunReply } from "../../../src/sandbox/protocol/reply-parser.ts";
import { GUEST_OUTPUTS_MAX } from "../../../src/settings/limits.ts";

const frame = (header: string | object, body: string | Buffer = "") => {
  const line = typeof header === "string" ? header : JSON.stringify(header);
  return Buffer.concat([Buffer.from(`${line}\n`), Buffer.from(body)]);
};
const ran = (counts: number[], body: string | Buffer, errors: object[] = []) =>
  parseRunReply(
    decodeGuestReply(frame({ kind: "ran", counts, errors, logs: [] }, body)),
    counts.length,
    0,
  );

test.each([
  ["a text", "line"],
  ["another event's", { text: "x", event: 1 }],
  ["no event's", { text: "x", event: -1 }],
  ["of a place that is none", { text: "x", line: "1" }],
  ["of a long library", { text: "x", library: "x".repeat(10_000) }],
  ["long", { text: "x".repeat(10_000) }],
])("a forged line of log is refused: %s", (_, line) => {
  const answer = { kind: "ran", counts: [0], errors: [], logs: [line] };
  expect(() => parseRunReply(decodeGuestReply(frame(answer, "")), 1, 10)).toThrow("Expected");
});

const forged: [name: string, answer: () => unknown][] = [
  ["an output that is no JSON", () => ran([1], "{garbage}")],
  ["an output with more behind it", () => ran([1], '{"a":1}{"b":1}')],
  ["two outputs for one", () => ran([1], "{}\n{}")],
  ["an output of two lines", () => ran([1], '{"a":\n1}')],
  ["a deep output that does not end", () => ran([1], '{"a":'.repeat(2_000))],
  ["an output that is no object", () => ran([1], "[]")],
  ["an output that is not UTF-8", () => ran([1], Buffer.from('{"a":"\xff"}', "latin1"))],
  ["an output too few", () => ran([2], "{}")],
  ["too many outputs of one event", () => ran([GUEST_OUTPUTS_MAX + 1], "{}\n".repeat(2_000))],
  [
    "too many outputs of all events",
    () => ran(Array(20).fill(GUEST_OUTPUTS_MAX), "{}\n".repeat(2 * GUEST_ANSWER_OUTPUTS_MAX)),
  ],
  ["more errors than events", () => ran([-1], "", [{ message: "a" }, { message: "b" }])],
  ["a header that is nested deeply", () => decodeGuestReply(frame("[".repeat(500_000)))],
  ["a header of many values", () => decodeGuestReply(frame(`[${"[],".repeat(300_000)}[]]`))],
  ["a header that never ends", () => decodeGuestReply(frame(`"${"x".repeat(2 << 20)}"`))],
  ["a header that is not JSON", () => decodeGuestReply(frame("{a}"))],
];

test.each(forged)("%s is refused", (_, answer) => {
  expect(answer).toThrow(GuestFrameError);
});

test("a header has at most 1 MiB, without its end of line", () => {
  const text = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
  expect(decodeGuestReply(frame(text(1 << 20), "{}")).body.toString()).toBe("{}");
  expect(() => decodeGuestReply(frame(text((1 << 20) + 1)))).toThrow("within its limit");
});

test("a header has at most four levels and 65,536 values, with its lists", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const values = (count: number) => JSON.stringify(Array(count - 1).fill(0));
  expect(decodeGuestReply(frame(nested(4))).header).toEqual([[[[]]]]);
  expect(decodeGuestReply(frame(values(65_536))).header).toHaveLength(65_535);
  for (const text of [nested(5), values(65_537)]) {
    expect(() => decodeGuestReply(frame(text))).toThrow("of at most 4 levels and 65536 values");
  }
});

test("an output that is nested too deeply is its event's error alone", () => {
  const deep = `{"a":${"[".repeat(2_000)}${"]".repeat(2_000)}}`;
  const { outcomes } = ran([1, 2, 1], `{"n":1}\n{}\n${deep}\n{"n":3}`) as { outcomes: unknown[] };
  expect(outcomes.map((outcome) => JSON.stringify(outcome))).toEqual([
    JSON.stringify({ events: [Buffer.from('{"n":1}')] }),
    '{"error":{"message":"Output is nested more than 1000 levels deep"}}',
    JSON.stringify({ events: [Buffer.from('{"n":3}')] }),
  ]);
});

test("frames come whole out of chunks of any size", () => {
  const bodies = ["", "x", "y".repeat(70_000), "z".repeat(300)];
  const bytes = Buffer.concat(
    bodies.map((body) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(body.length);
      return Buffer.concat([length, Buffer.from(body)]);
    }),
  );
  for (const size of [1, 3, 4, 5, 1_000, 65_536, bytes.length]) {
    const reader = new GuestFrameReader();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      reader.push(Uint8Array.from(bytes.subarray(at, at + size)));
      for (let one = reader.next(70_000); one; one = reader.next(70_000)) {
        found.push(one.toString());
      }
    }
    expect(found).toEqual(bodies);
    expect(reader.bufferedBytes).toBe(0);
  }
});

test("a frame that comes byte by byte takes no more memory than its size", () => {
  const reader = new GuestFrameReader();
  const length = Buffer.alloc(4);
  length.writeUInt32LE(4 << 20);
  reader.push(length);
  const before = process.memoryUsage.rss();
  for (let byte = 0; byte < 2 << 20; byte += 1) {
    reader.push(new Uint8Array(1).fill(10));
    reader.next(4 << 20);
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 << 20);
});
