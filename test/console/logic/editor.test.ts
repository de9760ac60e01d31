import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { renderHook, settled, startPage } from "./page.ts";

const page = startPage();
const { session } = await import("../../../src/console/data/session.ts");
const { addSampleEvent, clearSampleEvents } = await import(
  "../../../src/console/data/sample-events.ts"
);
const { toasts } = await import("../../../src/console/components/toasts.ts");
const { codeTexts } = await import("../../../src/console/texts/code.ts");
const { libraries, transformations } = await import("../../../src/console/code-kinds/code-kind.ts");
const { useEditor } = await import("../../../src/console/code/use-editor.ts");
const { knownEvents, useCompletionData } = await import(
  "../../../src/console/code/completion-data.ts"
);

const REVISION = {
  ...{ id: "t", versionId: "v1", name: "T", description: "D", language: "javascript" },
  ...{ code: "saved", importName: "tools" },
};
let reloads: number;
/** Routes of the requests that an opened editor sends by itself. */
let loaded: string[];
/** Answers by route, of the requests that a test expects. */
let answers: Record<string, unknown>;

beforeEach(() => {
  jest.useFakeTimers();
  reloads = 0;
  answers = { "GET /v2/transformations/t/test-cases": { testCases: [] } };
  page.answer = ({ route }) => answers[route] ?? Response.json({ message: route }, { status: 500 });
  page.asked.length = 0;
  toasts.value = [];
  const permissions = [transformations.editPermission, libraries.editPermission];
  session.value = { workspace: { id: "w" }, permissions } as never;
});
afterEach(() => {
  jest.useRealTimers();
  for (const name of ["code t", "base t", "events t", "trial t"]) {
    page.localStorage.removeItem(`pixelmill w ${name}`);
  }
});

/** Opens the editor of a revision, by default of a transformation. */
async function open(over: Record<string, unknown> = {}) {
  const context = { kind: transformations, newest: REVISION, newestVersionId: "v1", tag: "tag" };
  const reload = async () => void reloads++;
  const shown = renderHook(() => useEditor({ ...context, reload, ...over } as never));
  await settled();
  loaded = asked();
  page.asked.length = 0;
  return shown;
}

const asked = () => page.asked.map(({ route }) => route);
const messages = () => toasts.value.map(({ text, error }) => text ?? (error as Error).message);
const kept = () => page.localStorage.getItem("pixelmill w code t");

test("a changed code is saved as a draft, with its events and note, and is kept here no longer", async () => {
  answers["POST /transformations/t"] = { ...REVISION, warnings: ["slow"] };
  const shown = await open();
  shown.current.setCode("mine");
  shown.current.setEvents('[{"a":1}]');
  shown.current.setNote("why");
  await settled();
  jest.advanceTimersByTime(300);
  expect([shown.current.isChanged, kept()]).toEqual([true, "mine"]);
  shown.current.save();
  await Promise.resolve();
  expect(shown.current.busy).toBe("save");
  await settled();
  expect(shown.current.busy).toBeUndefined();
  expect(page.asked.map(({ route, query, body }) => [route, query, body])).toEqual([
    [
      "POST /transformations/t",
      { publish: "false" },
      { code: "mine", description: "D", events: [{ a: 1 }], note: "why" },
    ],
  ]);
  expect(page.asked[0]!.headers.get("if-match")).toBe("tag");
  expect([messages(), kept(), shown.current.note, reloads]).toEqual([
    [codeTexts.savedAsDraft],
    null,
    "",
    1,
  ]);
  await shown.close();
});

test("code that the user types during a save is an edit of the revision that was saved", async () => {
  const saved = Promise.withResolvers<unknown>();
  answers["POST /transformations/t"] = saved.promise;
  const context = { kind: transformations, newest: REVISION, newestVersionId: "v1", tag: "tag" };
  const next = { ...REVISION, versionId: "v2", code: "mine" };
  let latest: Record<string, unknown> = context;
  const hook = () => useEditor({ ...latest, reload } as never);
  const reload = async () => {
    latest = { ...context, newest: next, newestVersionId: "v2", tag: "tag2" };
    shown.show(hook);
  };
  const shown = renderHook(hook);
  await settled();
  shown.current.setCode("mine");
  await settled();
  shown.current.save();
  await settled();
  shown.current.setCode("mine, and more");
  await settled();
  saved.resolve({ ...next });
  await settled();
  jest.advanceTimersByTime(300);
  expect([shown.current.code, kept()]).toEqual(["mine, and more", "mine, and more"]);
  expect([shown.current.isOutdated, shown.current.baseVersionId]).toEqual([false, "v2"]);
  await shown.close();
});

test("a code without changes is not saved, and one without permission neither", async () => {
  const shown = await open();
  shown.current.save();
  expect(messages()).toEqual([codeTexts.noChanges]);
  session.value = { workspace: { id: "w" }, permissions: [] } as never;
  shown.current.setCode("mine");
  await settled();
  shown.current.save();
  await settled();
  expect([asked(), messages()]).toEqual([[], [codeTexts.noChanges]]);
  await shown.close();
});

test("a save that fails says so, and keeps the code", async () => {
  const shown = await open();
  shown.current.setCode("mine");
  await settled();
  shown.current.save();
  await settled();
  jest.advanceTimersByTime(300);
  expect([messages(), kept(), reloads]).toEqual([["POST /transformations/t"], "mine", 0]);
  await shown.close();
});

test("discarded changes are the saved code again", async () => {
  const shown = await open();
  shown.current.setCode("mine");
  await settled();
  jest.advanceTimersByTime(300);
  shown.current.discardChanges();
  await settled();
  expect([shown.current.code, shown.current.isChanged, kept()]).toEqual(["saved", false, null]);
  await shown.close();
});

test("a draft without changes is published as it is, and a changed one as another revision", async () => {
  answers["POST /libraries/publish"] = { published: true, warnings: ["slow", "large"] };
  answers["POST /transformations/t"] = REVISION;
  const shown = await open();
  await shown.current.publish();
  expect(page.asked[0]).toMatchObject({
    route: "POST /libraries/publish",
    body: { transformations: [{ versionId: "v1" }] },
  });
  expect(messages()).toEqual([`${codeTexts.published}. slow. large`]);
  shown.current.setCode("mine");
  await settled();
  await shown.current.publish();
  expect(page.asked[1]).toMatchObject({
    route: "POST /transformations/t",
    query: { publish: "true" },
    body: { code: "mine", description: "D" },
  });
  expect(page.asked[1]!.body).not.toContainAnyKeys(["events", "note"]);
  expect([messages().at(-1), reloads]).toEqual([codeTexts.published, 2]);
  await shown.close();
});

test("a run shows its report, or why there is none", async () => {
  const report = { results: [{ outputs: [{ b: 2 }] }], logs: [], testCases: [] };
  const testCases = [{ id: "c", name: "C", input: [{}], expectedOutput: [{}], versionId: "v" }];
  answers["GET /v2/transformations/t/test-cases"] = { testCases };
  const shown = await open();
  shown.current.setEvents("[1]");
  await settled();
  shown.current.run();
  await settled();
  expect(shown.current.eventsError).toContain("number");
  expect(asked()).toEqual([]);

  shown.current.setEvents('[{"a":1}]');
  await settled();
  shown.current.run();
  await settled();
  const [route] = asked();
  expect(shown.current.eventsError).toBeUndefined();
  expect((shown.current.runError as Error).message).toBe(route!);
  expect(shown.current.report).toBeUndefined();

  answers[route!] = report;
  page.asked.length = 0;
  shown.current.run();
  // The second does nothing while the first is in progress.
  await Promise.resolve();
  expect(shown.current.busy).toBe("run");
  shown.current.run();
  await settled();
  expect(page.asked.map(({ body }) => body.testSuite)).toEqual([
    [{ id: "c", name: "C", input: [{}], expectedOutput: [{}] }],
  ]);
  expect([shown.current.busy, shown.current.runError]).toEqual([undefined, undefined]);
  expect(shown.current.report as object).toEqual(report);
  await shown.close();
});

test("the publish dialog opens after a run in which no event fails", async () => {
  const shown = await open();
  await shown.current.requestPublish();
  await settled();
  const [route = ""] = asked();
  expect([messages(), shown.current.publishReport]).toEqual([[codeTexts.notPublished], undefined]);
  answers[route] = { results: [{ error: { message: "bad" } }], logs: [], testCases: [] };
  await shown.current.requestPublish();
  await settled();
  expect(shown.current.publishReport).toBeUndefined();
  const report = { results: [{ outputs: [] }], logs: [], testCases: [] };
  answers[route] = report;
  await shown.current.requestPublish();
  await settled();
  expect(shown.current.publishReport as object).toEqual(report);
  shown.current.cancelPublish();
  await settled();
  expect(shown.current.publishReport).toBeUndefined();
  answers["POST /libraries/publish"] = { published: true };
  const opening = shown.current.requestPublish();
  await Promise.resolve();
  expect(shown.current.busy).toBe("run");
  await opening;
  await settled();
  await shown.current.publish();
  await settled();
  expect(shown.current.publishReport).toBeUndefined();
  await shown.close();
});

test("code that was edited during its test is not offered to publish", async () => {
  const shown = await open();
  const run = Promise.withResolvers<unknown>();
  answers["POST /v2/run"] = run.promise;
  shown.current.setCode("tested");
  await settled();
  const opening = shown.current.requestPublish();
  await settled();
  shown.current.setCode("typed meanwhile");
  await settled();
  run.resolve({ results: [{ outputs: [{}] }], logs: [] });
  await opening;
  await settled();
  expect([shown.current.publishReport, messages()]).toEqual([
    undefined,
    [codeTexts.editedDuringTest],
  ]);
  await shown.close();
});

test("outputs of the code are those of all events, and the first failure rejects", async () => {
  const shown = await open();
  await shown.current.outputsOf([{ a: 1 }]).catch(() => {});
  const [route = ""] = asked();
  answers[route] = { results: [{ outputs: [{ b: 1 }] }, {}, { outputs: [{ b: 2 }] }] };
  expect(await shown.current.outputsOf([{}])).toEqual([{ b: 1 }, { b: 2 }]);
  answers[route] = { results: [{ outputs: [{}] }, { error: { message: "second" } }] };
  await expect(shown.current.outputsOf([{}])).rejects.toThrow("second");
  answers[route] = { error: { message: "whole" }, results: [] };
  await expect(shown.current.outputsOf([{}])).rejects.toThrow("whole");
  await shown.close();
});

test("a link with a line shows the line, with the event that failed there", async () => {
  for (const a of [2, 1]) addSampleEvent({ a });
  const shown = await open({ line: 7 });
  expect(shown.current.position).toEqual({ line: 7, library: undefined });
  expect(shown.current.events).toBe('{\n  "a": 1\n}');
  expect(loaded).toHaveLength(1);
  await shown.close();
  jest.advanceTimersByTime(300);
  page.localStorage.removeItem("pixelmill w events t");
  const plain = await open();
  expect([plain.current.position, plain.current.events]).toEqual([undefined, ""]);
  await plain.close();
  clearSampleEvents();
  const library = await open({ kind: libraries, line: 3 });
  expect(library.current.position).toEqual({ line: 3, library: "tools" });
  expect([library.current.events, loaded]).toEqual(["", []]);
  library.current.setTrial("try");
  await settled();
  jest.advanceTimersByTime(300);
  expect(page.localStorage.getItem("pixelmill w trial t")).toBe("try");
  await library.close();
});

test("completion has standard fields at once, and names of libraries and credentials once they are loaded", async () => {
  const library = (importName: string, language: string, code?: string) =>
    ({ importName, language, code }) as object;
  answers = {
    "GET /libraries": {
      libraries: [
        library("tools", "javascript", "export const shout = 1;"),
        library("empty", "javascript"),
        library("snake", "pythonfaas", "def hiss(): pass"),
      ],
    },
    "GET /v2/credentials": { credentials: [{ name: "KEY" }], paging: { total: 1 } },
  };
  session.value = { workspace: { id: "w" }, permissions: ["workspace:admin"] } as never;
  const own = { own: 1 };
  const shown = renderHook(() => useCompletionData("javascript", [own]));
  expect(shown.current).toMatchObject({ language: "javascript", credentials: [], libraries: [] });
  const [first, standard, ...others] = shown.current.events as Record<string, unknown>[];
  expect([first, others]).toEqual([own, []]);
  expect(standard).toMatchObject({ type: "track", context: { page: { url: "" } } });
  await settled();
  expect(shown.current).toMatchObject({
    credentials: ["KEY"],
    libraries: [
      { importName: "tools", exports: ["shout"] },
      { importName: "empty", exports: [] },
    ],
  });
  await shown.close();

  // Without the permission, credentials are not asked for.
  session.value = { workspace: { id: "w" }, permissions: [] } as never;
  page.asked.length = 0;
  const python = renderHook(() => useCompletionData("pythonfaas", []));
  await settled();
  expect(python.current).toMatchObject({
    ...{ language: "python", credentials: [] },
    libraries: [{ importName: "snake", exports: ["hiss"] }],
  });
  expect(page.asked.map(({ route }) => route)).toEqual(["GET /libraries"]);
  await python.close();
});

test("completion knows the test events that are valid, and those of the last run", () => {
  const report = { results: [{ event: { b: 1 } }] } as never;
  expect(knownEvents('{"a":1}', report)).toEqual([{ a: 1 }, { b: 1 }]);
  expect(knownEvents('{"a":', report)).toEqual([{ b: 1 }]);
  expect(knownEvents("[{}]", undefined)).toEqual([{}]);
  expect(knownEvents("no", undefined)).toEqual([]);
});
