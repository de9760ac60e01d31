import { describe, expect, test } from "bun:test";
import { GUEST_ANSWER_OUTPUTS_MAX } from "../../../src/sandbox/guest-limits.ts";
import { GuestFrameError } from "../../../src/sandbox/protocol/guest-frames.ts";
import { FAILED, OPEN } from "../../../src/sandbox/protocol/guest-protocol.ts";
import {
  isStackOverflow,
  parseInspectReply,
  parseLoadReply,
  parseRunReply,
  parseStartReply,
} from "../../../src/sandbox/protocol/reply-parser.ts";
import {
  GUEST_ERROR_CHARS_MAX,
  GUEST_IMPORTS_MAX,
  GUEST_LOG_CHARS_MAX,
  GUEST_OUTPUT_LEVELS_MAX,
  GUEST_OUTPUTS_MAX,
} from "../../../src/settings/limits.ts";

const frameOf = (header: unknown, body = "") => {
  return { header, body: Buffer.from(body), bytes: Buffer.from("") };
};
/** Parses a reply; "refused" if it breaks the protocol. */
function outcomeOf<T>(parse: () => T): T | "refused" {
  try {
    return parse();
  } catch (error) {
    expect(error).toBeInstanceOf(GuestFrameError);
    return "refused";
  }
}
const text = (chars: number) => "x".repeat(chars);
const error = { message: "m", line: 0, column: 1, library: "l" };

test.each<[header: unknown, report: unknown]>([
  [{ kind: "ready" }, { ready: true }],
  [
    { kind: "ready", reason: "r" },
    { ready: true, reason: "r" },
  ],
  [
    { kind: "unconfined", reason: "r" },
    { ready: false, reason: "r" },
  ],
  [{ kind: "unconfined", reason: text(GUEST_ERROR_CHARS_MAX + 1) }, "refused"],
  [{ kind: "ready", reason: 1 }, "refused"],
  [{ kind: "loaded" }, "refused"],
  [{}, "refused"],
  [null, "refused"],
  ["ready", "refused"],
])("a guest that starts with %j is read", (header, report) => {
  expect<unknown>(outcomeOf(() => parseStartReply(frameOf(header)))).toEqual(report);
});

test("only a frame of that kind tells of the end of the stack", () => {
  const headers = [{ kind: "overflowed" }, { kind: "ran" }, {}, null, "overflowed"];
  expect(headers.map((header) => isStackOverflow(frameOf(header)))).toEqual([
    ...[true, false, false, false, false],
  ]);
});

test.each<[header: unknown, failure: unknown]>([
  [{ kind: "loaded" }, undefined],
  [{ kind: "loaded", error: { message: "m" } }, { error: { message: "m" } }],
  [
    { kind: "loaded", error, usedMs: 0 },
    { error, usedMs: 0 },
  ],
  [{ kind: "loaded", error, usedMs: -1 }, "refused"],
  [{ kind: "loaded", error, usedMs: 1.5 }, "refused"],
  [{ kind: "loaded", error: "m" }, "refused"],
  [{ kind: "loaded", error: { message: 1 } }, "refused"],
  [{ kind: "loaded", error: { message: text(GUEST_ERROR_CHARS_MAX + 1) } }, "refused"],
  [{ kind: "loaded", error: { message: "m", line: "1" } }, "refused"],
  [{ kind: "loaded", error: { message: "m", line: -1 } }, "refused"],
  [{ kind: "loaded", error: { message: "m", column: -1 } }, "refused"],
  [{ kind: "loaded", error: { message: "m", library: 1 } }, "refused"],
  [{ kind: "ran", error }, "refused"],
])("a guest that answers a load with %j is read", (header, failure) => {
  expect<unknown>(outcomeOf(() => parseLoadReply(frameOf(header)))).toEqual(failure);
});

test("a message of an error has its longest length", () => {
  const message = text(GUEST_ERROR_CHARS_MAX);
  expect(parseLoadReply(frameOf({ kind: "loaded", error: { message } }))).toEqual({
    error: { message },
  });
});

const imports = (count: number) => Array.from({ length: count }, (_, at) => `i${at}`);

test.each<[what: string, header: object, found: unknown]>([
  ["no imports", { imports: [] }, { imports: [] }],
  ["imports and an error", { imports: ["a"], error }, { imports: ["a"], error }],
  [
    "most imports",
    { imports: imports(GUEST_IMPORTS_MAX) },
    { imports: imports(GUEST_IMPORTS_MAX) },
  ],
  ["one import too many", { imports: imports(GUEST_IMPORTS_MAX + 1) }, "refused"],
  ["an import that is no text", { imports: [1] }, "refused"],
  ["no list", { imports: "a" }, "refused"],
  ["another kind", { kind: "ran", imports: [] }, "refused"],
])("a guest that inspects code answers with %s", (_, header, found) => {
  const frame = frameOf({ kind: "inspected", ...header });
  expect<unknown>(outcomeOf(() => parseInspectReply(frame))).toEqual(found);
});

describe("a guest that ran events", () => {
  const ran = (header: object, count = 2, body = "", logsMax = 1) =>
    outcomeOf(() => {
      const empty = { kind: "ran", errors: [], logs: [] };
      return parseRunReply(frameOf({ ...empty, ...header }, body), count, logsMax);
    });
  const none = { events: [] };
  const stopped = (stop: unknown, counts = [0, OPEN]) => {
    const found = ran({ counts, stopped: stop }, counts.length);
    return typeof found === "object" && "stopped" in found ? found.stopped : found;
  };

  test("has an outcome for each of them, and the errors in their order", () => {
    const errors = [error, { message: "n" }];
    expect<unknown>(ran({ counts: [FAILED, 0, FAILED], errors }, 3)).toEqual({
      outcomes: [{ error }, none, { error: { message: "n" } }],
      logs: [],
    });
  });

  test.each<[what: string, header: object]>([
    ["too few counts", { counts: [0] }],
    ["too many counts", { counts: [0, 0, 0] }],
    ["a count below those that have a meaning", { counts: [0, Math.min(OPEN, FAILED) - 1] }],
    ["an error too few", { counts: [FAILED, FAILED], errors: [error] }],
    ["an error too many", { counts: [0, 0], errors: [error] }],
    ["no list of logs", { counts: [0, 0], logs: undefined }],
    ["another kind", { counts: [0, 0], kind: "inspected" }],
    ["no reason for an open event", { counts: [0, OPEN] }],
    ["a load without an error", { kind: "loaded" }],
  ])("is refused with %s", (_, header) => {
    expect(ran(header)).toBe("refused");
  });

  test("may have failed to load the program again", () => {
    expect<unknown>(ran({ kind: "loaded", error, usedMs: 3 })).toEqual({ error, usedMs: 3 });
  });

  test.each<[stop: unknown, counts: number[], read: unknown]>([
    [{ reason: "full" }, [0, OPEN], { reason: "full" }],
    [{ reason: "failed", error }, [OPEN, OPEN], { reason: "failed", error }],
    [{ reason: "timeout" }, [OPEN], { reason: "timeout" }],
    [{ reason: "timeout", culprit: 1, culpritMs: 0 }, [0, OPEN], undefined],
    [{ reason: "timeout", culprit: 0 }, [OPEN, 0], undefined],
    // A batch of one event must end with its outcome.
    [{ reason: "full" }, [OPEN], "refused"],
    [{ reason: "failed", error }, [OPEN], "refused"],
    [{ reason: "failed" }, [OPEN, OPEN], "refused"],
    [{ reason: "tired" }, [0, OPEN], "refused"],
    [{ reason: "timeout", culprit: 0 }, [0, OPEN], "refused"],
    [{ reason: "timeout", culprit: 2 }, [0, OPEN], "refused"],
    [{ reason: "timeout", culprit: -1 }, [0, OPEN], "refused"],
    [{ reason: "timeout", culpritMs: -1 }, [0, OPEN], "refused"],
    ["timeout", [0, OPEN], "refused"],
  ])("may have stopped: %j after %j", (stop, counts, read) => {
    expect<unknown>(stopped(stop, counts)).toEqual(read ?? stop);
  });

  test("that all have outcomes has not stopped", () => {
    expect<unknown>(ran({ counts: [0, 0], stopped: { reason: "timeout" } })).toEqual({
      outcomes: [none, none],
      logs: [],
    });
  });

  test("has as many lines of log as it may, of an event of the batch", () => {
    const line = { text: text(GUEST_LOG_CHARS_MAX), event: 1, line: 0, library: "l" };
    expect(ran({ counts: [0, 0], logs: [line] })).toMatchObject({ logs: [line] });
    const first = { text: "a", event: 0 };
    expect(ran({ counts: [0, 0], logs: [first] })).toMatchObject({ logs: [first] });
    const ofBatch = { text: "a" };
    expect(ran({ counts: [0], logs: [ofBatch] }, 1)).toMatchObject({ logs: [ofBatch] });
    const refused = [[line, line], [{ ...line, event: 2 }], [{ ...line, text: `${line.text}x` }]];
    for (const logs of refused) expect(ran({ counts: [0, 0], logs })).toBe("refused");
  });

  test("has at most as many outputs as an event and an answer may have", () => {
    const outcomesOf = (counts: number[]) => {
      const sum = counts.reduce((total, it) => total + it, 0);
      const found = ran({ counts }, counts.length, "{}\n".repeat(sum));
      return typeof found === "object" && "outcomes" in found ? "read" : found;
    };
    expect(outcomesOf([GUEST_OUTPUTS_MAX])).toBe("read");
    expect(outcomesOf([GUEST_OUTPUTS_MAX + 1])).toBe("refused");
    const full = Array(GUEST_ANSWER_OUTPUTS_MAX / GUEST_OUTPUTS_MAX).fill(GUEST_OUTPUTS_MAX);
    expect(outcomesOf(full)).toBe("read");
    expect(outcomesOf([...full, 1])).toBe("refused");
  });

  test("has outputs that are nested as deeply as they may be", () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
    const found = [GUEST_OUTPUT_LEVELS_MAX, GUEST_OUTPUT_LEVELS_MAX + 1].map((levels) => {
      return ran({ counts: [1] }, 1, nested(levels));
    });
    const message = `Output is nested more than ${GUEST_OUTPUT_LEVELS_MAX} levels deep`;
    const whole = { events: [Buffer.from(nested(GUEST_OUTPUT_LEVELS_MAX))] };
    const expected = [whole, { error: { message } }].map((it) => ({ outcomes: [it], logs: [] }));
    expect<unknown>(found).toEqual(expected);
  });
});
