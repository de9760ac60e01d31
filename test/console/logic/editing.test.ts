import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { EditorState } from "@codemirror/state";
import type { Decoration, DecorationSet, EditorView } from "@codemirror/view";
import { RequestRefused } from "../../../src/api/client.ts";
import { annotate, annotationExtensions } from "../../../src/console/editor/annotations.ts";
import { mergeTexts } from "../../../src/console/editor/merge-texts.ts";
import { renderHook, settled, startPage } from "./page.ts";

const page = startPage();
const { session } = await import("../../../src/console/data/session.ts");
const report = await import("../../../src/console/testing/run-report.ts");
const { libraries, transformations } = await import("../../../src/console/code-kinds/code-kind.ts");
const { useEventRows } = await import("../../../src/console/testing/event-rows.ts");
const { tagOf, useTestCases } = await import("../../../src/console/testing/use-test-cases.ts");
const unsaved = await import("../../../src/console/code/editing/unsaved-text.ts");
const { useMerge } = await import("../../../src/console/code/publishing/merge.tsx");

beforeEach(() => {
  jest.useFakeTimers();
  page.asked.length = 0;
  session.value = { workspace: { id: "w" }, permissions: [] } as never;
});
afterEach(() => {
  jest.useRealTimers();
});

describe("a run of code", () => {
  const testCases = [
    { id: "1", name: "A", input: [{}], expectedOutput: [{}], versionId: "v" },
    { id: "2", name: "B", input: [] },
  ] as never;
  const run = { code: "c", trial: "t", events: [{ a: 1 }], testCases };

  test("of a transformation sends its test cases", async () => {
    const newest = { name: "T", language: "javascript" } as never;
    await report.runCode({ ...run, kind: transformations, newest });
    expect(page.asked[0]?.body).toEqual({
      ...{ language: "javascript", name: "T", code: "c", events: [{ a: 1 }] },
      testSuite: [
        { id: "1", name: "A", input: [{}], expectedOutput: [{}] },
        { id: "2", name: "B", input: [] },
      ],
    });
  });

  test("of a library sends a transformation that calls it", async () => {
    await report.runCode({ ...run, kind: libraries, newest: { name: "L" } as never });
    expect(page.asked[0]?.body).toEqual({
      ...{ libraries: [{ name: "L", code: "c" }], name: "try", code: "t", events: [{ a: 1 }] },
    });
  });

  test("takes one event or a list, and names the position of what is no event", () => {
    expect(report.parseEvents(" \n")).toEqual([]);
    expect(report.parseEvents('{"a":1}')).toEqual([{ a: 1 }]);
    expect(report.parseEvents('[{"a":1},{}]')).toEqual([{ a: 1 }, {}]);
    for (const [text, number, what] of [
      ["[{}, null]", "2", "null"],
      ["[[]]", "1", "array"],
      ["7", "1", "number"],
    ] as const) {
      expect(() => report.parseEvents(text)).toThrow(number);
      expect(() => report.parseEvents(text)).toThrow(what);
    }
    expect(() => report.parseEvents("{")).toThrow(SyntaxError);
  });

  const failing = {
    error: { message: "loads not\nat x", line: 3, column: 2 },
    results: [
      { error: { message: "no", library: "tools", line: 4 } },
      { error: { message: "bad" } },
      { outputs: [{}] },
    ],
    logs: [
      { text: "Log: said", line: 5 },
      { text: "Log:bare", line: 6, library: "tools" },
      { text: "without a line" },
    ],
  } as never;

  test("annotates the code with the first line of its errors, and with its log lines", () => {
    expect(report.annotationsOf(failing)).toEqual([
      { kind: "error", text: "loads not", line: 3, column: 2 },
      { kind: "error", text: "bad", line: 1, column: undefined },
      { kind: "log", text: "said", line: 5 },
    ]);
    expect(report.annotationsOf(failing, "tools")).toEqual([
      { kind: "error", text: "no", line: 4, column: undefined },
      { kind: "log", text: "bare", line: 6 },
    ]);
    expect(report.annotationsOf(undefined)).toEqual([]);
  });

  test("fails by an error, a failed event or a failed test case", () => {
    const clean = { results: [{ outputs: [{}] }], logs: [] };
    expect(report.isFailed(clean as never)).toBe(false);
    expect(report.isFailed({ ...clean, testSuites: [{ status: "pass" }] } as never)).toBe(false);
    expect(report.isFailed({ ...clean, testSuites: [{ status: "fail" }] } as never)).toBe(true);
    expect(report.isFailed({ ...clean, error: {} } as never)).toBe(true);
    expect(report.isFailed({ ...clean, results: [{ error: {} }] } as never)).toBe(true);
  });

  test("tells the outcome of each event, and warns when all are dropped", () => {
    const tones = [{ error: {} }, {}, { outputs: [] }, { outputs: [{}] }, { outputs: [{}, {}] }];
    const outcomes = tones.map((it) => report.outcomeOf(it as never));
    expect(outcomes.map(({ tone }) => tone)).toEqual(["bad", "warn", "warn", "good", "good"]);
    expect(outcomes[3]!.text).toBe("Passed");
    expect(outcomes[4]!.text).toContain("2");
    expect(new Set(outcomes.map(({ text }) => text)).size).toBe(4);
    const warning = (results: object[]) => report.warningOf({ results } as never);
    expect(warning([])).toBeUndefined();
    expect(warning([{ outputs: [] }, {}])).toBeUndefined();
    expect(warning([{ outputs: [] }, { outputs: [] }])).toBeString();
  });
});

describe("a merge of two texts", () => {
  const base = "1\n2\n3\n4\n5\n6";
  test.each([
    ["1\n2\n3\n4\n5\n6", "1\nB\n3\n4\n5\n6", "1\nB\n3\n4\n5\n6", 0],
    ["1\nB\n3\n4\n5\n6", "1\n2\n3\n4\n5\n6", "1\nB\n3\n4\n5\n6", 0],
    ["A\n2\n3\n4\n5\n6", "1\n2\n3\n4\nE\n6", "A\n2\n3\n4\nE\n6", 0],
    ["1\nX\n3\n4\n5\n6", "1\nY\n3\n4\n5\n6", "1\nX\n3\n4\n5\n6", 1],
    ["1\nX\n3\n4\n5\n6", "1\nX\n3\n4\n5\n6", "1\nX\n3\n4\n5\n6", 0],
    ["1\nX\n3\n4\n5\n6", "1\n2\n3\nY\n5\nZ", "1\nX\n3\nY\n5\nZ", 0],
    ["0\n1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", 0],
    ["1\nX\nX\n4\nX\n6", "1\n2\nY\nY\nY\n6", "1\nX\nX\n4\nX\n6", 1],
    ["", "1\n2\n3\n4\n5\n6\n7", "", 1],
  ])("%j and %j is %j", (yours, theirs, text, overlaps) => {
    expect(mergeTexts(base, yours, theirs)).toEqual({ text, overlaps });
  });
});

describe("annotations of the code", () => {
  const doc = "const a = 1;\nreturn $b.c;\nx";
  /** Widgets and marked errors after annotations were shown. */
  function shown(annotations: Parameters<typeof annotate>[1]) {
    let state = EditorState.create({ doc, extensions: annotationExtensions });
    let diagnostics: { from: number; to: number; message: string }[] = [];
    const view = {
      get state() {
        return state;
      },
      dispatch(...specs: object[]) {
        const transaction = state.update(...specs);
        state = transaction.state;
        for (const { value } of transaction.effects) {
          const list = value as typeof diagnostics;
          if (list.every?.((it) => "severity" in it)) diagnostics = list;
        }
      },
    };
    annotate(view as unknown as EditorView, annotations);
    const widgets: [at: number, name: string, text: string][] = [];
    const set = state.field(annotationExtensions[0] as never) as DecorationSet;
    set.between(0, doc.length, (from, _, { spec }: Decoration) => {
      widgets.push([from, spec.widget.className, spec.widget.text]);
    });
    return { widgets, marks: diagnostics.map(({ from, to, message }) => [from, to, message]) };
  }

  test("show each error once below its line, and mark the word at its column", () => {
    const at = { kind: "error", line: 2, text: "bad" } as const;
    const { widgets, marks } = shown([
      ...[{ ...at, column: 8 }, { ...at, column: 10 }, at, { ...at, column: 99 }],
      ...[
        { ...at, line: 0 },
        { ...at, line: 4 },
        { ...at, line: 3, column: -5 },
      ],
    ]);
    expect(widgets).toEqual([
      [25, "cm-fault", "bad"],
      [27, "cm-fault", "bad"],
    ]);
    expect(marks).toEqual([
      [20, 22, "bad"],
      [22, 23, "bad"],
      [13, 19, "bad"],
      [25, 25, "bad"],
      [26, 27, "bad"],
    ]);
  });

  test("show three log lines beside a line, cut, and how many more there are", () => {
    const log = (text: string) => ({ kind: "log", line: 1, text }) as const;
    const long = "x".repeat(121);
    const three = shown([log("a"), log(long), log("c")]);
    expect(three.widgets).toEqual([[12, "cm-log", `a  ·  ${long.slice(1)}  ·  c`]]);
    expect(three.marks).toEqual([]);
    const five = shown(["a", "b", "c", "d", "e"].map(log)).widgets[0]![2];
    expect(five).toStartWith("a  ·  b  ·  c  ·  ");
    expect(five).toContain("2");
  });
});

describe("events to choose from", () => {
  const numbers = (rows: readonly { number: number }[]) => rows.map(({ number }) => number);

  test("are the newest fifty, and those that are selected", async () => {
    const shown = renderHook(useEventRows);
    for (let number = 0; number < 51; number++) shown.current.add({ number });
    await settled();
    expect(numbers(shown.current.rows)).toEqual(Array.from({ length: 50 }, (_, at) => 50 - at));
    shown.current.toggle(shown.current.rows[49]!);
    shown.current.toggle(shown.current.rows[0]!);
    shown.current.add({ number: 51 });
    await settled();
    expect([...shown.current.selected.values()]).toEqual([{ number: 1 }, { number: 50 }]);
    expect(numbers(shown.current.rows)).toHaveLength(51);
    expect(shown.current.rows.at(-1)).toEqual({ number: 1, event: { number: 1 } });
    shown.current.toggle(shown.current.rows.at(-1)!);
    shown.current.add({ number: 52 });
    await settled();
    expect([...shown.current.selected.keys()]).toEqual([50]);
    expect(numbers(shown.current.rows)).toHaveLength(50);
    shown.current.clear();
    await settled();
    expect([shown.current.rows.length, shown.current.selected.size]).toEqual([0, 0]);
    await shown.close();
  });

  test("stay in their place while the list is held", async () => {
    const shown = renderHook(useEventRows);
    shown.current.add({});
    shown.current.hold();
    shown.current.hold();
    shown.current.add({});
    shown.current.release();
    await settled();
    expect(numbers(shown.current.rows)).toEqual([0]);
    shown.current.release();
    shown.current.release();
    await settled();
    expect(numbers(shown.current.rows)).toEqual([1, 0]);
    shown.current.hold();
    shown.current.clear();
    shown.current.add({});
    await settled();
    expect(numbers(shown.current.rows)).toEqual([2]);
    await shown.close();
  });
});

describe("test cases", () => {
  const path = "/v2/transformations/t/test-cases";
  test("are loaded, and again after each change", async () => {
    page.answer = () => ({ testCases: [{ id: "c", versionId: "v" }] });
    const shown = renderHook(() => useTestCases("t"));
    await settled();
    const [stored] = shown.current.list!;
    expect(stored as unknown).toEqual({ id: "c", versionId: "v" });
    const body = { name: "N", input: [] };
    await shown.current.save(body);
    await shown.current.save(body, "c", tagOf(stored!));
    await shown.current.remove(stored!);
    expect(page.asked.map(({ route, body }) => [route, body?.name])).toEqual([
      [`GET ${path}`, undefined],
      [`POST ${path}`, "N"],
      [`GET ${path}`, undefined],
      [`PUT ${path}/c`, "N"],
      [`GET ${path}`, undefined],
      [`DELETE ${path}/c`, undefined],
      [`GET ${path}`, undefined],
    ]);
    // A change of another is neither overwritten nor deleted.
    const conditions = page.asked.map(({ headers }) => headers.get("if-match"));
    expect(conditions).toEqual([null, null, null, '"v"', null, '"v"', null]);
    await shown.close();
    page.asked.length = 0;
    const none = renderHook(() => useTestCases(undefined));
    await settled();
    expect([none.current.list, page.asked]).toEqual([[], []]);
    await none.close();
  });
});

describe("an unsaved text", () => {
  const kept = (name: string) => page.localStorage.getItem(`pixelmill w ${name}`);
  const open = (name: string, saved: string) =>
    renderHook(() => unsaved.useUnsavedText(name, saved));

  test("is written once the user pauses, and read after a reload", async () => {
    const name = unsaved.textName("code", "id");
    expect(name).toBe("code id");
    const shown = open(name, "saved");
    shown.current[1]("a");
    jest.advanceTimersByTime(299);
    shown.current[1]("ab");
    jest.advanceTimersByTime(299);
    expect(kept(name)).toBeNull();
    expect(open(name, "saved").current[0]).toBe("ab");
    jest.advanceTimersByTime(1);
    expect(kept(name)).toBe("ab");
    page.localStorage.setItem(`pixelmill w ${name}`, "of before");
    expect(open(name, "saved").current[0]).toBe("of before");
    shown.current[1]("saved");
    await settled();
    expect([kept(name), shown.current[0]]).toEqual([null, "saved"]);
    jest.advanceTimersByTime(300);
    expect(kept(name)).toBeNull();
  });

  test("is read only in sessions of the member who typed it", () => {
    const signIn = (member?: string) => {
      session.value = { workspace: { id: "w" }, member: member && { id: member } } as never;
    };
    signIn("one");
    unsaved.saveText("events t", "secret");
    page.dispatchEvent(new Event("pagehide"));
    for (const other of ["two", undefined]) {
      signIn(other);
      expect(open("events t", "").current[0]).toBe("");
    }
    signIn("one");
    expect(open("events t", "").current[0]).toBe("secret");
    unsaved.discardText("events t");
  });

  test("is only in the page where local storage is disabled", () => {
    const { getItem, removeItem } = page.localStorage;
    const refuse = () => {
      throw new DOMException("Disabled", "SecurityError");
    };
    Object.assign(page.localStorage, { getItem: refuse, removeItem: refuse });
    try {
      expect(open("t", "saved").current[0]).toBe("saved");
      unsaved.saveText("t", "mine");
      expect(open("t", "saved").current[0]).toBe("mine");
      unsaved.discardText("t");
      expect(open("t", "saved").current[0]).toBe("saved");
    } finally {
      Object.assign(page.localStorage, { getItem, removeItem });
    }
  });

  test("that local storage refuses is kept until it can be written", () => {
    const { setItem } = page.localStorage;
    page.localStorage.setItem = () => {
      throw new DOMException("Full", "QuotaExceededError");
    };
    unsaved.saveText("t", "mine");
    jest.advanceTimersByTime(300);
    expect(open("t", "saved").current[0]).toBe("mine");
    page.localStorage.setItem = setItem;
    page.dispatchEvent(new Event("pagehide"));
    expect(kept("t")).toBe("mine");
    unsaved.discardText("t");
  });

  test.each(["visibilitychange", "pagehide"])("is written at once at %s", (event) => {
    unsaved.saveText("t", event);
    page.dispatchEvent(new Event(event));
    page.document.dispatchEvent(new Event(event));
    expect(kept("t")).toBe(event);
    unsaved.discardText("t");
    expect(kept("t")).toBeNull();
  });

  test("follows the saved text until the user edits it", async () => {
    const shown = open("follows", "1");
    await settled();
    shown.show(() => unsaved.useUnsavedText("follows", "2"));
    await settled();
    expect(shown.current[0]).toBe("2");
    shown.current[1]("mine");
    await settled();
    shown.show(() => unsaved.useUnsavedText("follows", "3"));
    await settled();
    expect(shown.current[0]).toBe("mine");
    unsaved.discardText("follows");
    await shown.close();
  });

  test("keeps the revision that it is based on while it is edited", async () => {
    const shown = renderHook(() => unsaved.useTextBase("base", "v1", false));
    await settled();
    shown.show(() => unsaved.useTextBase("base", "v2", false));
    await settled();
    expect(shown.current[0]).toBe("v2");
    shown.show(() => unsaved.useTextBase("base", "v2", true));
    await settled();
    shown.show(() => unsaved.useTextBase("base", "v3", true));
    await settled();
    jest.advanceTimersByTime(300);
    expect([shown.current[0], kept("base")]).toEqual(["v2", "v2"]);
    expect(renderHook(() => unsaved.useTextBase("base", "v9", true)).current[0]).toBe("v2");
    shown.show(() => unsaved.useTextBase("base", "v3", false));
    await settled();
    expect([shown.current[0], kept("base")]).toEqual(["v3", null]);
    await shown.close();
  });
});

describe("code that others saved meanwhile", () => {
  const newest = { id: "t", versionId: "v2", code: "theirs" };
  const set: string[] = [];
  let reloads = 0;
  const context = {
    kind: { getRevision: async (_: string, id: string) => ({ code: `code of ${id}` }) },
    ...{ newest, newestVersionId: "v2", reload: async () => void reloads++ },
  } as never;
  const text = {
    ...{ code: "mine", isChanged: true, baseVersionId: "v2" },
    setCode: (code: string) => void set.push(code),
    setBaseVersionId: (id: string) => void set.push(id),
  };
  const refusal = (current?: object, base?: object) =>
    new RequestRefused(412, "changed", [], undefined, { current, tag: "t", base });
  beforeEach(() => {
    set.length = 0;
    reloads = 0;
  });

  test("is merged before an edited text of an older revision is saved", async () => {
    const shown = renderHook(() => useMerge(context, { ...text, baseVersionId: "v1" }));
    expect(shown.current.isOutdated).toBe(true);
    const save = () => Promise.reject(new Error("saved"));
    expect(await shown.current.saveOrMerge(save)).toBe(false);
    await settled();
    expect(shown.current.mergeRequest).toEqual({
      ...{ base: "code of v1", yours: "mine", theirs: newest as never },
    });
    shown.current.useMerged("merged");
    await settled();
    expect([set, shown.current.mergeRequest]).toEqual([["v2", "merged"], undefined]);
    shown.current.useMerged("again");
    expect(set).toHaveLength(2);
    await shown.close();
  });

  test("opens the merge when the save meets it", async () => {
    const shown = renderHook(() => useMerge(context, text));
    expect(shown.current.isOutdated).toBe(false);
    expect(await shown.current.saveOrMerge(async () => {})).toBe(true);
    const theirs = { versionId: "v3", code: "a\r\nb\r" };
    const meets = (base?: object) =>
      shown.current.saveOrMerge(() => Promise.reject(refusal(theirs, base)));
    expect(await meets({ code: "a\r\n" })).toBe(false);
    await settled();
    // The lines end as in the editor.
    expect(shown.current.mergeRequest as object).toEqual({
      ...{ base: "a\n", yours: "mine", theirs: { ...theirs, code: "a\nb\n" } },
    });
    shown.current.closeMerge();
    await settled();
    expect(shown.current.mergeRequest).toBeUndefined();
    expect(await meets()).toBe(false);
    await settled();
    expect(shown.current.mergeRequest?.base).toBe("theirs");
    expect(reloads).toBe(2);
    await shown.close();
  });

  test("is no merge where there is nothing to merge", async () => {
    const save = async (text: Parameters<typeof useMerge>[1], error: Error) => {
      const shown = renderHook(() => useMerge(context, text));
      const thrown = await shown.current.saveOrMerge(() => Promise.reject(error)).catch((it) => it);
      await shown.close();
      return thrown;
    };
    for (const error of [new Error("other"), refusal(undefined), refusal({ versionId: "v2" })]) {
      expect(await save(text, error)).toBe(error);
    }
    const unedited = refusal({ versionId: "v3", code: "" });
    expect(await save({ ...text, isChanged: false }, unedited)).toBe(unedited);
  });
});
