import { describe, expect, test } from "bun:test";
import type { LiveProgram } from "../../src/catalog/live.ts";
import { CodeLogs } from "../../src/pipeline/monitoring/code-logs.ts";
import {
  CODE_LOG_BYTES_MAX,
  CODE_LOG_LINES_MAX,
  CODE_LOG_LINES_PER_SECOND_MAX,
  CODE_LOGS_BYTES_MAX,
  GUEST_LOG_CHARS_MAX,
} from "../../src/settings/limits.ts";

/** Logs on a clock that the test sets. */
function setup() {
  let ms = 1_000_000;
  const logs = new CodeLogs({ now: () => ms, elapsed: () => ms });
  const pass = (by: number) => {
    ms += by;
  };
  const write = (texts: string[], more: { workspaceId?: string; id?: string } = {}) => {
    const { workspaceId = "w", id = "t" } = more;
    logs.add(
      live(workspaceId, id),
      "d",
      texts.map((text, event) => ({ text, event })),
      (event) => `m${event}`,
    );
  };
  return { logs, pass, write };
}

const live = (workspaceId: string, id: string, credentials = {}) =>
  ({
    workspaceId,
    transformation: { id, versionId: `${id}-1` },
    credentials,
  }) as never as LiveProgram;

const texts = (logs: CodeLogs, workspaceId = "w", filter = {}, limit = 10_000) =>
  logs.list(workspaceId, filter, limit).map(({ text }) => text);

test("a transformation has room for its lines of a second, and no other for less", () => {
  const { logs, pass, write } = setup();
  expect(logs.room("t")).toEqual({
    lines: CODE_LOG_LINES_PER_SECOND_MAX,
    chars: CODE_LOG_LINES_PER_SECOND_MAX * GUEST_LOG_CHARS_MAX,
  });
  write(new Array(CODE_LOG_LINES_PER_SECOND_MAX).fill("x"));
  expect(logs.room("t")).toEqual({ lines: 0, chars: 0 });
  expect(logs.room("other").lines).toBe(CODE_LOG_LINES_PER_SECOND_MAX);
  // A batch that had its room before the others wrote.
  write(["too late"]);
  expect(texts(logs)).not.toContain("too late");
  pass(500);
  expect(logs.room("t").lines).toBe(CODE_LOG_LINES_PER_SECOND_MAX / 2);
  pass(60_000);
  expect(logs.room("t").lines).toBe(CODE_LOG_LINES_PER_SECOND_MAX);
});

test("lines have event, revision, destination and time, newest first", () => {
  const { logs, pass, write } = setup();
  write(["a", "b"]);
  pass(10);
  logs.add(live("w", "u"), "e", [{ text: "c", line: 3, library: "lib" }], () => "none");
  const [c, b] = logs.list("w", {}, 2);
  expect(c).toEqual({
    id: expect.any(String),
    at: 1_000_010,
    text: "c",
    line: 3,
    library: "lib",
    transformationId: "u",
    transformationVersionId: "u-1",
    destinationId: "e",
  });
  expect(b).toMatchObject({ text: "b", messageId: "m1", at: 1_000_000 });
  expect(c).not.toHaveProperty("messageId");
  expect(texts(logs, "w", {}, 2)).toEqual(["c", "b"]);
  expect(texts(logs, "w", {}, 0)).toEqual([]);
  expect(texts(logs, "other")).toEqual([]);
  for (const [filter, expected] of [
    [{ transformationId: "u" }, ["c"]],
    [{ transformationVersionId: "t-1" }, ["b", "a"]],
    [{ destinationId: "d" }, ["b", "a"]],
    [{ messageId: "m0" }, ["a"]],
    [{ text: "B" }, ["b"]],
    [{ after: b!.id }, ["c"]],
    [{ before: b!.id }, ["a"]],
    [{ transformationId: "u", text: "a" }, []],
  ] as const) {
    expect([filter, texts(logs, "w", filter)]).toEqual([filter, [...expected]]);
  }
});

test("a workspace keeps its latest lines, bounded by number and by bytes", () => {
  const { logs, pass, write } = setup();
  for (let n = 0; n < CODE_LOG_LINES_MAX + 5; n++) {
    write([String(n)]);
    pass(1_000);
  }
  const kept = texts(logs);
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([
    CODE_LOG_LINES_MAX,
    String(CODE_LOG_LINES_MAX + 4),
    "5",
  ]);
  const long = "x".repeat(GUEST_LOG_CHARS_MAX);
  for (let bytes = 0; bytes < 2 * CODE_LOG_BYTES_MAX; bytes += long.length) {
    write([long]);
    pass(1_000);
  }
  const size = texts(logs).reduce((sum, text) => sum + text.length, 0);
  expect(size).toBeLessThanOrEqual(CODE_LOG_BYTES_MAX);
  expect(size).toBeGreaterThan(CODE_LOG_BYTES_MAX / 2);
});

test("all workspaces together are bounded, and the one that logged longest ago loses its lines", () => {
  const { logs, pass, write } = setup();
  const long = new Array(CODE_LOG_LINES_PER_SECOND_MAX).fill("x".repeat(GUEST_LOG_CHARS_MAX));
  const perWorkspace = 20;
  const count = 1 + Math.ceil(CODE_LOGS_BYTES_MAX / (perWorkspace * 10 * GUEST_LOG_CHARS_MAX));
  for (let workspace = 0; workspace < count; workspace++) {
    for (let n = 0; n < perWorkspace; n++) {
      write(long, { workspaceId: `w${workspace}`, id: `t${workspace}` });
      pass(1_000);
    }
    write(["still here"], { workspaceId: "w0", id: "t" });
  }
  const sizes = Array.from({ length: count }, (_, n) => texts(logs, `w${n}`).length);
  expect(sizes[1]).toBe(0);
  expect(sizes[0]).toBeGreaterThan(0);
  expect(sizes.at(-1)).toBe(perWorkspace * CODE_LOG_LINES_PER_SECOND_MAX);
});

test("a workspace's credentials are masked in lines", () => {
  const { logs } = setup();
  const program = live("w", "t", { key: "s3cret.*", short: "a", empty: "" });
  logs.add(program, "d", [{ text: "a s3cret.* and s3cret.*!" }], () => undefined);
  expect(texts(logs)).toEqual(["a *** and ***!"]);
});

describe("credentials are masked as a whole", () => {
  const masked = (text: string, ...values: string[]) => {
    const { logs } = setup();
    logs.add(live("w", "t", { ...values }), "d", [{ text }], () => undefined);
    return texts(logs)[0];
  };

  test("if one begins with another, or begins within another", () => {
    const names = ["token", "token-of-the-warehouse"];
    expect(masked("token-of-the-warehouse, token", ...names)).toBe("***, ***");
    expect(masked("<first-second>", "first-sec", "-second")).toBe("<***>");
    expect(masked("<token-of-the-warehouse>", ...names, "of-the")).toBe("<***>");
    expect(masked("aaaaab", "aaaab")).toBe("a***");
  });

  test("from four characters on", () => {
    expect(masked("abcd abc", "abcd", "abc")).toBe("*** abc");
  });

  test("in JSON too, where some characters are escaped", () => {
    const key = '-----BEGIN "KEY"-----\nMIIE\\\n-----END KEY-----\n';
    expect(masked(`Log: ${JSON.stringify({ key })}`, key)).toBe('Log: {"key":"***"}');
  });

  test("in URLs and base64 too, beside other text", () => {
    const key = "p+ss/w rd!'";
    const url = new URLSearchParams({ key, a: "b" }).toString();
    expect(masked(`Log: ${url}`, key)).toBe("Log: key=***&a=b");
    expect(masked(`Log: ?key=${encodeURIComponent(key)}&a=b`, key)).toBe("Log: ?key=***&a=b");
    for (const user of ["", "u:", "me:", "you:"]) {
      for (const encoding of ["base64", "base64url"] as const) {
        const token = Buffer.from(user + key).toString(encoding);
        expect(masked(`Log: ${token}.`, key)).toMatch(/^Log: [\w]{0,6}\*\*\*\w?=*\.$/);
      }
    }
  });

  test("and a part of one is shown", () => {
    expect(masked("Log: https://example.com", "https://example.com/hook")).toBe(
      "Log: https://example.com",
    );
  });

  test("and a text that many of them resemble is masked from there on", () => {
    const names = Array.from({ length: 256 }, (_, n) => `${"a".repeat(4_000)}${n}`);
    expect(masked(`Log: ${"a".repeat(4_000)}`, ...names)).toBe("Log: ***");
    expect(masked("Log: aaaa", ...names)).toBe("Log: aaaa");
  });

  test("where a line was cut, and only there", () => {
    const start = "x".repeat(GUEST_LOG_CHARS_MAX - 6);
    expect(masked(`${start}s3cret`, "s3cret-of-the-warehouse")).toBe(`${start}***`);
    expect(masked(`${start}a s3cr`, "s3cret-of-the-warehouse")).toBe(`${start}a ***`);
    expect(masked("Log: s3cret", "s3cret-of-the-warehouse")).toBe("Log: s3cret");
  });

  test("where one repeats its own characters, also at the end of a line that was cut", () => {
    expect(masked("Log: ababa ababab", "abab")).toBe("Log: ***a ***");
    expect(masked("Log: aabaabaaab", "aabaaab")).toBe("Log: aab***");
    const start = `${"x".repeat(GUEST_LOG_CHARS_MAX - 7)}`;
    expect(masked(`${start}aaabaab`, "aabaaba")).toBe(`${start}a***`);
  });
});
