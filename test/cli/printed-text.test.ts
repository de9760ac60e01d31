import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RequestRefused } from "../../src/api/client.ts";
import { type Overview, overviewLines } from "../../src/cli/client/overview-text.ts";
import { finishReplay, replayLine } from "../../src/cli/client/replay-text.ts";
import { type TailLine, TailView, tailFilter } from "../../src/cli/client/tail-view.ts";
import { lineDiff } from "../../src/cli/code/line-diff.ts";
import { failureOf, passingFailureOf } from "../../src/cli/connection/failure.ts";
import type { CommandOutput } from "../../src/cli/terminal/output.ts";
import { table } from "../../src/cli/terminal/table.ts";
import { fit, jsonText, pad, plain, plainLines, wrap } from "../../src/cli/terminal/text.ts";
import { StartError } from "../../src/errors.ts";

/** An output that marks painted texts, and keeps what is written. */
function outputOf(columns: number) {
  const written: string[] = [];
  const output = {
    columns,
    paint: (style: string, text: string) => `<${style}>${text}</>`,
    write: async (text: string) => void written.push(text),
  } as unknown as CommandOutput;
  return { output, written };
}

describe("a text for a terminal", () => {
  test("has escapes in place of characters that a terminal obeys", () => {
    const text = "a\u001b[2J\u202e\u2028\ud800é\n\tb";
    expect(plain(text)).toBe("a\\u001b[2J\\u202e\\u2028\\ud800é\\n\\tb");
    expect(plainLines(text)).toBe("a\\u001b[2J\\u202e\\u2028\\ud800é\n\tb");
    expect(jsonText({ a: "\u009b" })).toBe('{"a":"\\u009b"}');
    expect(jsonText({ a: 1 }, 2)).toBe('{\n  "a": 1\n}');
    expect(jsonText(undefined)).toBe("null");
  });

  test("is cut, padded and broken by the columns that it takes", () => {
    expect(fit("abcdef", 6)).toBe("abcdef");
    expect(fit("abcdefg", 6)).toBe("abcde…");
    expect(fit("日本語", 6)).toBe("日本語");
    expect(fit("日本語", 5)).toBe("日本…");
    expect(fit("日本語", 4)).toBe("日…");
    expect([pad("ab", 4), pad("ab", 4, "right"), pad("日", 4), pad("abc", 2)]).toEqual([
      "ab  ",
      "  ab",
      "日  ",
      "abc",
    ]);
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("one two", 7)).toEqual(["one two"]);
    expect(wrap("a abcdefghij b", 4)).toEqual(["a", "abc", "def", "ghij", "b"]);
    expect(wrap("ab 日本", 1)).toEqual(["a", "b", "日", "本"]);
    expect(wrap("ab", -4)).toEqual(["a", "b"]);
  });
});

describe("a table", () => {
  const rows = [
    ["NAME", "COUNT", "NOTE"],
    ["a", "1,000", "<1 s"],
    ["long\u001b", "7", ""],
  ];
  test("aligns numbers right, and escapes what a terminal obeys", () => {
    expect(table(rows, 80)).toEqual([
      "NAME        COUNT  NOTE",
      "a           1,000  <1 s",
      "long\\u001b      7",
    ]);
  });

  test("cuts its widest columns, none below six", () => {
    const wide = [
      ["A", "B"],
      ["a".repeat(30), "b".repeat(20)],
    ];
    const cutTo = (width: number) =>
      table(wide, width)[1]!
        .split("  ")
        .map((cell) => cell.length);
    expect(cutTo(52)).toEqual([30, 20]);
    expect(cutTo(51)).toEqual([29, 20]);
    expect(cutTo(41)).toEqual([20, 19]);
    expect(cutTo(20)).toEqual([9, 9]);
    expect(cutTo(3)).toEqual([6, 6]);
  });
});

describe("a difference of two texts", () => {
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => `${from + at}`);
  const text = (all: string[]) => all.map((line) => `${line}\n`).join("");

  test("has each changed line with three lines around it", () => {
    const before = lines(1, 20);
    const after = before.with(9, "ten");
    expect(lineDiff(text(before), text(after))).toEqual([
      "@@",
      ...[" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13"],
    ]);
    const twice = after.with(0, "one");
    expect(lineDiff(text(before), text(twice))).toEqual([
      ...["-1", "+one", " 2", " 3", " 4", "@@"],
      ...[" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13"],
    ]);
  });

  test("keeps the longest common lines", () => {
    expect(lineDiff("a\nb\nc\nd\n", "x\nb\nd\ne\n")).toEqual(["-a", "+x", " b", "-c", " d", "+e"]);
    expect(lineDiff("a\nb\n", "b\na\n")).toEqual(["-a", " b", "+a"]);
    expect(lineDiff("k\na\nb\nc\nk\n", "k\nc\na\nb\nk\n")).toEqual([
      ...[" k", "+c", " a", " b", "-c", " k"],
    ]);
  });

  test("removes and adds as few lines as possible", () => {
    const short = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 4 });
    const common = (a: string[], b: string[]): number => {
      if (a.length === 0 || b.length === 0) return 0;
      if (a[0] === b[0]) return 1 + common(a.slice(1), b.slice(1));
      return Math.max(common(a.slice(1), b), common(a, b.slice(1)));
    };
    const property = fc.property(short, short, (before, after) => {
      if (before.join() === after.join()) return;
      const found = lineDiff(text(before), text(after));
      const side = (mark: string) =>
        found.filter((it) => it[0] === " " || it[0] === mark).map((it) => it.slice(1));
      expect([side("-"), side("+")]).toEqual([before, after]);
      expect(found.filter((it) => it[0] === " ")).toHaveLength(common(before, after));
    });
    fc.assert(property);
  });

  test("shows exactly the lines within three lines of a change, wherever the changes are", () => {
    const isChange = (line: string) => !line.startsWith(" ");
    const property = fc.property(fc.array(fc.boolean(), { maxLength: 40 }), (changes) => {
      const before = changes.map((_, at) => `${at}`);
      const after = before.map((line, at) => (changes[at] ? `new ${line}` : line));
      const all = before.flatMap((line, at) => {
        if (!changes[at]) return [` ${line}`];
        if (changes[at - 1]) return [];
        const run = changes.slice(at).indexOf(false);
        const end = run < 0 ? changes.length : at + run;
        const marked = (mark: string, of: string[]) => of.slice(at, end).map((it) => mark + it);
        return [...marked("-", before), ...marked("+", after)];
      });
      const near = all.map((_, at) => all.slice(Math.max(0, at - 3), at + 4).some(isChange));
      const expected = all.flatMap((line, at) => (near[at] ? [line] : near[at + 1] ? ["@@"] : []));
      expect(lineDiff(text(before), text(after))).toEqual(expected);
    });
    fc.assert(property);
  });

  test("shows a missing line end, added and removed texts, and nothing for equal ones", () => {
    expect(lineDiff("a\n", "a")).toEqual(["-a", "+a (no line end)"]);
    expect(lineDiff("", "a\n")).toEqual(["+a"]);
    expect(lineDiff("a\n\n", "")).toEqual(["-a", "-"]);
    expect(lineDiff("a\nb\n", "a\nb\n")).toEqual([]);
  });

  test("counts all lines between the equal ends as changed when there are too many to compare", () => {
    const [before, after] = [lines(1, 2_001), lines(1, 2_000).toReversed()];
    const found = lineDiff(text(before), text(after));
    expect(found.filter((line) => line.startsWith(" "))).toEqual([]);
    expect(found).toHaveLength(4_001);
  });
});

describe("the line of a replay", () => {
  const replay = {
    ...{ id: "r\u001b", kind: "events", state: "running", progress: 0.129, perSecond: 10 },
    counts: { delivered: 1_000, dropped: 0, failed: 0, pending: 0, done: 7 },
  };
  const lineOf = (more: object, columns = 200) => {
    return replayLine({ ...replay, ...more } as never, columns);
  };
  test("has the counts that are not zero, the time that is left and the error", () => {
    expect(lineOf({})).toBe("r\\u001b  running 12 %  1,000 delivered");
    const counts = { delivered: 1, dropped: 2, failed: 3, pending: 4, done: 7 };
    const whole = lineOf({ counts, left: 600, error: "a\nb" });
    expect(whole).toStartWith(
      "r\\u001b  running 12 %  1 delivered, 2 dropped, 3 failed, 4 on their way, ",
    );
    expect(whole).toEndWith(" left, a\\nb");
    expect(lineOf({ left: 600, perSecond: 0 })).not.toContain("left");
    expect(lineOf({ left: 600, waitsFor: "Status 503\u001b" })).toEndWith(
      "1,000 delivered, waits: Status 503\\u001b",
    );
  });
  test("has the deleted letters of a purge, no share after its end, and fits the columns", () => {
    expect(lineOf({ kind: "purge", state: "done" })).toBe("r\\u001b  done  7 deleted");
    expect(lineOf({}, 10)).toBe("r\\u001b  …");
  });
});

describe("a command that starts a replay", () => {
  const counts = { delivered: 2, dropped: 0, failed: 0, pending: 0, done: 2 };
  const running = {
    id: "r",
    kind: "events",
    state: "running",
    progress: 0.5,
    perSecond: 1,
    counts,
  };
  const late = { ...running, state: "done", counts: { ...counts, pending: 1 } };
  const done = { ...running, state: "done" };
  const failures = [{ reason: "bad\u001b", count: 2 }];
  async function finish(args: object, states: object[], isTerminal = false) {
    const printed: string[] = [];
    const { output, written } = outputOf(60);
    const reads: unknown[] = [];
    const call = {
      args,
      client: {
        call: async (...request: unknown[]) => {
          reads.push(request);
          return { replay: states[reads.length] };
        },
      },
      output: Object.assign(output, {
        ...{ isTerminal, closed: new AbortController().signal },
        print: (line: string) => void printed.push(line),
        note: (line: string) => void printed.push(`note: ${line}`),
      }),
    };
    const code = await finishReplay(call as never, states[0] as never);
    return { code, printed, reads, written };
  }

  test("prints it once without --wait, and how to watch it while it runs", async () => {
    const once = await finish({}, [running]);
    expect(once).toMatchObject({ code: 0, reads: [], written: [] });
    expect(once.printed).toEqual([
      "r  running 50 %  2 delivered",
      "note: pixelmill replay watch r shows how far it is",
    ]);
    expect((await finish({}, [done])).printed).toEqual(["r  done  2 delivered"]);
    expect((await finish({ json: true }, [running])).printed).toEqual([JSON.stringify(running)]);
  });

  test("waits with --wait until no event is on its way, and fails when one failed", async () => {
    const good = await finish({ wait: true }, [running, late, done]);
    expect(good).toMatchObject({ code: 0, printed: ["r  done  2 delivered"], written: [] });
    expect(good.reads).toEqual([
      ["GET /v2/replays/{id}", { params: { id: "r" } }],
      ["GET /v2/replays/{id}", { params: { id: "r" } }],
    ]);
    const failed = { ...done, counts: { ...counts, failed: 2 }, failures };
    const bad = await finish({ wait: true }, [failed]);
    expect(bad.code).toBe(1);
    expect(bad.printed).toEqual(["r  done  2 delivered, 2 failed", "  2 events: bad\\u001b"]);
    const json = await finish({ wait: true, json: true }, [failed], true);
    expect(json).toMatchObject({ printed: [jsonText(failed)], written: [] });
    expect((await finish({ wait: true }, [{ ...done, state: "cancelled" }])).code).toBe(1);
  });

  test("rewrites its line in a terminal until it has ended", async () => {
    const { written } = await finish({ wait: true }, [running, done], true);
    expect(written).toEqual(["\r\x1b[Kr  running 50 %  2 delivered", "\r\x1b[K"]);
  });
});

describe("the text of an overview", () => {
  const rates = { received: 5, delivered: 4, dropped: 0, failed: 0 };
  const totals = {
    ...{ lagEvents: 0, lagSeconds: 0, deadLetters: 1, problems: 0, destinations: 0, sources: 0 },
    rates,
  };
  const shown = (overview: object, columns = 100) => {
    const whole = { problems: [], destinations: [], sources: [], totals, ...overview };
    const facts = { overview: whole as unknown as Overview, workspace: "w\n", server: "host" };
    return overviewLines(facts, outputOf(columns).output);
  };

  test("without items has no table, and says that nothing needs a person", () => {
    const lines = shown({});
    expect(lines.slice(0, 3)).toEqual([
      "<bold>w\\n at host</>",
      "<green>nothing needs a person</>",
      "",
    ]);
    expect(lines[3]).toStartWith("received 5");
    expect(lines.slice(4)).toEqual(["nothing pending, 1 dead letter"]);
  });

  test("has problems first, coloured by whether they stop events, with their facts", () => {
    const since = new Date(Date.now() - 7_200_500).toISOString();
    const problems = [
      { kind: "down", message: "m\u001b", since, count: 3 },
      { kind: "dead-letters", message: "letters", count: 2 },
    ];
    const lines = shown({ problems, totals: { ...totals, problems: 3, lagEvents: 5 } });
    expect(lines[1]).toBe("<red>3 things to look at</>");
    expect(lines[2]).toMatch(/^ {2}<red>down<\/> {2}m\\u001b, for 2(\.0)? h, 3 dead letters$/);
    expect(lines[3]).toBe("  <yellow>dead-letters</>  letters");
    expect(lines[4]).toBe("  and 1 more");
    expect(lines.at(-1)).toStartWith("5 pending, the oldest ");
    const [, , cut] = shown({ problems, totals: { ...totals, problems: 2 } }, 20);
    expect(cut).toBe("  <red>down</>  m\\u001b, fo…");
  });

  test("has a table of destinations and of sources, and how many more there are", () => {
    const item = { type: "webhook", state: "ok", rates, lagEvents: 0, lagSeconds: 9 };
    const destinations = [
      { ...item, name: "a", deadLetters: 0, rejecting: true },
      { ...item, name: "b", deadLetters: 0, state: "down", lagEvents: 2, rejecting: true },
      { ...item, name: "c", deadLetters: 0 },
    ];
    const sources = [
      { name: "s", enabled: true, receivedPerSecond: 1 },
      { name: "t", enabled: false, receivedPerSecond: 0 },
    ];
    const counts = { ...totals, destinations: 5, sources: 2 };
    const lines = shown({ destinations, sources, totals: counts }).slice(5);
    const words = lines.map((line) => line.split(/ {2,}/));
    expect(words.map(([first]) => first)).toEqual([
      ...["", "<dim>DESTINATION", "a", "b", "c", "and 2 more destinations"],
      ...["", "<dim>SOURCE", "s", "t"],
    ]);
    expect([words[2]![2], words[3]![2], words[4]![2]]).toEqual(["rejecting", "down", "ok"]);
    expect([words[2]!.length, words[3]!.length]).toEqual([6, 7]);
    expect([words[8]![1], words[9]![1]]).toEqual(["on", "off"]);
  });
});

describe("a request that failed", () => {
  const refused = (status: number, message: string, details: object[] = []) =>
    new RequestRefused(status, message, details as never, undefined);
  const text = (error: unknown) => failureOf(error, "host");

  test("is a sentence with the reason of the server", () => {
    expect(text(refused(401, "Unknown token\u001b"))).toBe(
      "The server at host refuses the token: Unknown token\\u001b",
    );
    expect(text(refused(404, "The server answered 404"))).toBe(
      "Expected the control plane of pixelmill at host, got status 404",
    );
    expect(text(refused(404, "No such replay"))).toBe("No such replay");
    const details = [
      { path: "name", message: "is long" },
      { message: "Bad" },
      { message: "x\u001b" },
    ];
    expect(text(refused(400, "Bad", details))).toBe("Bad\n  name is long\n  x\\u001b");
  });

  test("is a sentence when the server is away, and none for a bug of the program", () => {
    const coded = (code: string) => Object.assign(new Error("m"), { code });
    expect(text(coded("CERT_HAS_EXPIRED"))).toBe(
      "Cannot reach the server at host: its certificate is expired",
    );
    expect(text(coded("ENOTFOUND"))).toEndWith("the name of the host is unknown");
    expect(text(coded("ECONNREFUSED"))).toStartWith("Cannot reach the server at host: ");
    expect(text(Object.assign(new Error(), { name: "TimeoutError" }))).toBe(
      "The server at host gave no answer in time",
    );
    expect(text(new SyntaxError("JSON"))).toBe(
      "Expected the control plane of pixelmill at host, got other answers",
    );
    for (const bug of [new TypeError("bug"), new StartError("said"), "text", undefined]) {
      expect(text(bug)).toBeUndefined();
    }
  });

  test("may pass when the server is away or has no time", () => {
    const isPassing = (error: unknown) => passingFailureOf(error, "host") !== undefined;
    const away = Object.assign(new Error("away"), { code: "ECONNREFUSED" });
    const late = Object.assign(new Error("late"), { name: "TimeoutError" });
    const passing = [refused(500, ""), refused(503, ""), refused(429, ""), away, late];
    expect(passing.filter((it) => !isPassing(it))).toEqual([]);
    const bug = new TypeError("undefined is not an object");
    const final = [refused(499, ""), refused(404, ""), new StartError("bad"), bug, "text"];
    expect(final.filter(isPassing)).toEqual([]);
  });
});

describe("lines of a tail", () => {
  const event = { type: "track", event: "Order", userId: "u", anonymousId: "x" };
  const line: TailLine = {
    ...{ stage: "delivered", sourceId: "s", destinationId: "d" },
    ...{ at: "2026-01-02T03:04:05.678Z", event },
  };

  test("are chosen by stage, event or page, user and text", () => {
    const matches = (args: Record<string, unknown>, it: TailLine = line) =>
      tailFilter(args).matches(it);
    expect(matches({})).toBe(true);
    expect([matches({ stage: "received,delivered" }), matches({ stage: "dropped" })]).toEqual([
      true,
      false,
    ]);
    expect([matches({ event: "Order" }), matches({ event: "Other" })]).toEqual([true, false]);
    expect(matches({ event: "Home" }, { ...line, event: { name: "Home" } })).toBe(true);
    expect([matches({ user: "u" }), matches({ user: "x" }), matches({ user: "y" })]).toEqual([
      ...[true, true, false],
    ]);
    expect([matches({ grep: "oRDER" }), matches({ grep: "none" })]).toEqual([true, false]);
    expect([matches({ grep: '"event": "Order"' }), matches({ grep: '"event":"x"' })]).toEqual([
      ...[true, false],
    ]);
    expect(matches({ grep: 'say "hi"' }, { ...line, event: { name: 'Say "hi"' } })).toBe(true);
    expect(matches({ user: "u" }, { stage: "missed", event: null })).toBe(false);
    expect([tailFilter({}).count, tailFilter({ count: "3" }).count]).toEqual([
      Number.POSITIVE_INFINITY,
      3,
    ]);
    expect(() => tailFilter({ count: "0" })).toThrow("Expected --count");
    expect(tailFilter({ count: "1" }).count).toBe(1);
    expect(() => tailFilter({ stage: "received,lost" })).toThrow("Unknown stage lost");
  });

  test("have time, stage, names, reason, event and user, and fit the columns", async () => {
    const { output, written } = outputOf(60);
    const view = new TailView(output, new Map([["s", "site"]]), false);
    await view.add(line, true);
    await view.add({ stage: "dead-letter", sourceId: "s", reason: "bad\n" }, true);
    await view.add({ ...line, event: { ...event, userId: 7, event: "e".repeat(50) } }, true);
    await view.add(line, false);
    await view.add({ stage: "missed", count: 1_000 }, true);
    await view.add({ stage: "missed", count: 1 }, false);
    await view.add({ stage: "missed" }, true);
    expect(written).toEqual([
      "<dim>03:04:05.678</> <green>delivered  </> site → d  track Order  u\n",
      "<dim></> <red>dead-letter</> site  bad\\n\n",
      `<dim>03:04:05.678</> <green>delivered  </> site → d  track ${"e".repeat(18)}…\n`,
      "<yellow>… 1,000 missed</>\n",
      "<yellow>… 0 missed</>\n",
    ]);
    expect(view.summary()).toBe(
      "3 shown, 1 left out by filters, 1,001 missed: more came than a tail is sent",
    );
    expect(new TailView(output, new Map(), false).summary()).toBe("0 shown");
  });

  test("are JSON when that is asked for", async () => {
    const { output, written } = outputOf(60);
    await new TailView(output, new Map(), true).add({ stage: "received", at: "\u009b" }, true);
    expect(written).toEqual(['{"stage":"received","at":"\\u009b"}\n']);
  });
});
