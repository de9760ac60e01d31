import { beforeEach, describe, expect, test } from "bun:test";
import type { GuestRuntime, ReplyWithBody } from "../../../src/sandbox/guest/guest-runtime.ts";
import { openJavascript } from "../../../src/sandbox/guest/javascript/javascript-runtime.ts";
import type {
  LoadRequest,
  RunReply,
  RunRequest,
} from "../../../src/sandbox/protocol/guest-protocol.ts";
import { GUEST_IMPORTS_MAX } from "../../../src/settings/limits.ts";

/** The runtime of a guest in this process, with programs that mean no harm. */

let runtime: GuestRuntime;
beforeEach(async () => {
  runtime = await openJavascript();
});

async function answer(header: object, body = Buffer.alloc(0)): Promise<ReplyWithBody> {
  return (await runtime.answer({ header, body } as never)) as ReplyWithBody;
}

async function load(code: string, more: Partial<LoadRequest> = {}) {
  const none = { libraries: [], credentials: {}, drop: [], budgetMs: 10_000 };
  const { reply } = await answer({
    kind: "load",
    program: 1,
    name: "My T",
    code,
    ...none,
    ...more,
  });
  return reply;
}

async function run(events: unknown[], more: Partial<RunRequest> = {}) {
  const text = JSON.stringify(events);
  const metadata = JSON.stringify([[{}], events.map(() => [0])]);
  const sizes = { count: events.length, eventsBytes: Buffer.byteLength(text) };
  const bounds = { budgetMs: 10_000, cpuMs: 10_000, logsMax: 9, logsCharsMax: 1_000 };
  const request = { kind: "run", program: 1, ...sizes, ...bounds, ...more };
  const { reply, body } = await answer(request, Buffer.from(text + metadata));
  return { ...(reply as RunReply), body };
}

const perEvent = (body: string) => `export async function transformEvent(event) { ${body} }`;
const failure = (message: string): any => ({
  kind: "loaded",
  error: expect.objectContaining({ message }),
});

describe("a run", () => {
  test("has outputs, failures and log lines of its events", async () => {
    const code = `export function transformEvent(event) {
      if (event.fails) throw new Error("bad " + event.n);
      log("event " + event.n);
      return event.n === 3 ? undefined : event.n === 4 ? [event, event] : event;
    }`;
    expect(await load(code)).toEqual({ kind: "loaded" });
    const events = [{ n: 1 }, { n: 2, fails: true }, { n: 3 }, { n: 4 }, { n: "ä" }];
    const reply = await run(events);
    expect(reply).toMatchObject({ kind: "ran", counts: [1, -1, 0, 2, 1] });
    expect(reply.body).toEqual(['{"n":1}', '{"n":4}\n{"n":4}', '{"n":"ä"}']);
    expect(reply.errors).toMatchObject([
      { message: expect.stringContaining("Error: bad 2\n    at transformEvent (My T:2:"), line: 2 },
    ]);
    expect(reply.logs).toMatchObject([
      { text: "Log: event 1", event: 0, line: 3 },
      { text: "Log: event 3", event: 2, line: 3 },
      { text: "Log: event 4", event: 3, line: 3 },
      { text: "Log: event ä", event: 4, line: 3 },
    ]);
    expect(reply).not.toHaveProperty("stopped");
    expect((await run(events, { logsMax: 0 })).logs).toEqual([]);
    expect((await run(events, { logsMax: 1 })).logs).toHaveLength(1);
  });

  test("has a log line without an event where code of the whole batch writes it", async () => {
    await load('export function transformBatch(events) { log("all"); return events; }');
    expect((await run([{}])).logs).toEqual([{ text: "Log: all", line: 1 }]);
  });

  test("of a whole batch that fails is stopped with its error, for each event to run alone", async () => {
    await load('export function transformBatch(events) { throw new TypeError("no"); }');
    const { counts, stopped } = await run([{}, {}]);
    expect(counts).toEqual([-2, -2]);
    expect(stopped).toMatchObject({
      ...{
        reason: "failed",
        error: { message: expect.stringContaining("TypeError: no"), line: 1 },
      },
    });
    const single = await run([{}]);
    expect([single.counts, single.errors.length, single.stopped]).toEqual([[-1], 1, undefined]);
  });

  test("gives up promises that never settle", async () => {
    await load(perEvent("if (event.waits) await new Promise(() => {}); return event;"));
    const { counts, errors, stopped } = await run([{}, { waits: true }, {}]);
    expect([counts, stopped]).toEqual([[1, -1, 1], undefined]);
    expect(errors).toMatchObject([{ message: "Timed out" }]);
  });

  test("stops at its outputs when they fill a reply", async () => {
    await load(
      `export function transformEvent(event) { return { text: "x".repeat(event.chars) } }`,
    );
    const { counts, stopped } = await run(Array(3).fill({ chars: 600_000 }));
    expect([counts, stopped]).toEqual([[1, -2, -2], { reason: "full" }]);
  });
});

describe("a run that takes too long", () => {
  const loops = "while (event.loops) {}";

  test("is stopped with the event whose function runs, and the time of that event", async () => {
    await load(`export function transformEvent(event) { ${loops} return event; }`);
    const { counts, stopped } = await run([{}, { loops: true }, {}], { budgetMs: 20 });
    expect(counts).toEqual([1, -2, -2]);
    expect(stopped).toEqual({ reason: "timeout", culprit: 1, culpritMs: expect.any(Number) });
    expect(stopped!.culpritMs).toBeGreaterThanOrEqual(0);
    // The program is compiled again.
    expect((await run([{}, {}])).counts).toEqual([1, 1]);
  });

  test("is stopped with the only event that is not settled, whose time is known if it is alone", async () => {
    const later = "for (let n = 0; event.loops && n < 9; n += 1) await 0;";
    await load(perEvent(`${later} ${loops} return event;`));
    const { counts, stopped } = await run([{}, { loops: true }], { budgetMs: 20 });
    expect([counts, stopped]).toEqual([[1, -2], { reason: "timeout", culprit: 1 }]);
    const alone = await run([{ loops: true }], { budgetMs: 20 });
    expect(alone.stopped).toEqual({ reason: "timeout", culprit: 0, culpritMs: expect.any(Number) });
  });

  test("names no event where several are not settled", async () => {
    await load(perEvent(`await 0; ${loops} await new Promise(() => {});`));
    const { stopped } = await run([{ loops: true }, {}], { budgetMs: 20 });
    expect(stopped).toEqual({ reason: "timeout" });
  });
});

describe("code is loaded", () => {
  test("with the libraries that it imports and its secrets", async () => {
    const library = { importName: "tools", code: "export const double = (n) => 2 * n;" };
    const code = `import { double } from "tools"; import { sha256 } from "@rs/hash/v1";
      ${perEvent('return { n: double(event.n), secret: getCredential("key"), hash: typeof sha256 };')}`;
    const credentials = { key: "s3cret" };
    expect(await load(code, { libraries: [library], credentials })).toEqual({ kind: "loaded" });
    expect((await run([{ n: 4 }])).body).toEqual(['{"n":8,"secret":"s3cret","hash":"function"}']);
  });

  test.each([
    ["export const a = 1;", "Error: Expected one of transformEvent,transformBatch. Found "],
    [
      "export function transformEvent() {} export function transformBatch() {}",
      "Error: Expected one of transformEvent,transformBatch. Found transformEvent,transformBatch",
    ],
    [
      'import "nothing"; export function transformEvent() {}',
      "Error: import from nothing failed. Module not found.",
    ],
    [
      'import "deep"; export function transformEvent() {}',
      "Error: import from tools failed. Module not found.",
    ],
    [
      'import { none } from "tools"; export function transformEvent() {}',
      "SyntaxError: The requested module 'tools' does not provide an export named 'none'",
    ],
    ["await new Promise(() => {}); export function transformEvent() {}", "Timed out"],
  ])("unless it is %j", async (code, message) => {
    const libraries = [
      { importName: "tools", code: "export const double = 2;" },
      { importName: "deep", code: 'import "tools";' },
    ];
    expect(await load(code, { libraries })).toEqual(failure(message));
  });

  test("unless it does not parse, with the place", async () => {
    expect(await load("\nconst a = ;")).toMatchObject({ error: { line: 2, column: 11 } });
  });

  test("in place of the programs that are dropped", async () => {
    const code = perEvent("return event;");
    for (const program of [1, 2]) await load(code, { program });
    expect(await load(code, { program: 3, drop: [1] })).toEqual({ kind: "loaded" });
    for (const program of [2, 3]) expect((await run([{}], { program })).counts).toEqual([1]);
    await expect(run([{}], { program: 1 })).rejects.toThrow("Unknown program");
  });
});

test("an event has the metadata of its row, and of the object that it shares with others", async () => {
  await load(`export function transformEvent(event, metadata) {
    const { messageId, rudderId, receivedAt, sourceId, jobId, ...rest } = metadata(event);
    return { messageId, rudderId, receivedAt, sourceId, jobId, others: Object.keys(rest).length };
  }`);
  const events = JSON.stringify([{}, {}, {}]);
  const shared = [{ sourceId: "s", messageId: "m", jobId: 7 }, { sourceId: "t" }];
  const rows = [[0, "own", "r", "now"], [1], [0]];
  const sizes = { count: 3, eventsBytes: events.length };
  const bounds = { budgetMs: 10_000, cpuMs: 10_000, logsMax: 0, logsCharsMax: 0 };
  const request = { kind: "run", program: 1, ...sizes, ...bounds };
  const { body } = await answer(request, Buffer.from(events + JSON.stringify([shared, rows])));
  const others = 24;
  const found = body!.map((text) => JSON.parse(text));
  expect(found).toEqual([
    { messageId: "own", rudderId: "r", receivedAt: "now", sourceId: "s", jobId: 7, others },
    { sourceId: "t", others },
    { messageId: "m", sourceId: "s", jobId: 7, others },
  ]);
});

test("the imports of code are listed once, in their order, or its error", async () => {
  const code = 'import "b"; import a from "a"; export { b } from "b";';
  const inspect = async (code: string) => (await answer({ kind: "inspect", code })).reply;
  expect(await inspect(code)).toEqual({ kind: "inspected", imports: ["b", "a"] });
  expect(await inspect("\nconst a = ;")).toMatchObject({
    ...{ kind: "inspected", imports: [], error: { line: 2 } },
  });
  const many = Array.from({ length: GUEST_IMPORTS_MAX + 1 }, (_, n) => `import "m${n}";`).join("");
  expect(await inspect(many)).toMatchObject({
    ...{
      imports: [],
      error: { message: expect.stringContaining(`imports, got ${GUEST_IMPORTS_MAX + 1}`) },
    },
  });
});

test("a library is loaded alone, and its error does not begin with the error's name", async () => {
  const check = async (code: string) => {
    const request = { kind: "library", importName: "tools", code, libraries: [], budgetMs: 10_000 };
    return (await answer(request)).reply;
  };
  expect(await check("export const a = 1;")).toEqual({ kind: "loaded" });
  expect(await check('import "other";')).toEqual(
    failure("import from other failed. Module not found."),
  );
  expect(await check("await new Promise(() => {});")).toEqual(failure("Timed out"));
});

test("a request of an unknown kind ends the guest", async () => {
  await expect(answer({ kind: "other" })).rejects.toThrow("Unknown request");
});
