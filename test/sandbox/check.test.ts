import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { batch, hasty, library, PATIENCE_MS, program, shown, testSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = testSandbox();
/** For code that loops. */
const strict = testSandbox({ limits: hasty });
afterAll(() => Promise.all([sandbox.close(), strict.close()]));

const TIMED_OUT = "Script execution timed out.";

const loadErrors: [name: string, code: string, error: object][] = [
  [
    "a syntax error with its place",
    "export function transformEvent(event) {\n  const x = ;\n return event; }",
    { message: "SyntaxError: Unexpected token ';' [My T:2:13]", line: 2, column: 13 },
  ],
  [
    "no entry point",
    "export default function transformEvent() {}",
    { message: "Error: Expected one of transformEvent,transformBatch. Found " },
  ],
  [
    "two entry points",
    "export const transformEvent = () => {}, transformBatch = () => {}",
    {
      message:
        "Error: Expected one of transformEvent,transformBatch. Found transformEvent,transformBatch",
    },
  ],
  [
    "an unknown module",
    "import fs from 'fs'; export function transformEvent() {}",
    { message: "Error: import from fs failed. Module not found." },
  ],
  [
    "an unknown name of a library",
    "import { y } from 'myLib'; export function transformEvent() {}",
    { message: "SyntaxError: The requested module 'myLib' does not provide an export named 'y'" },
  ],
  [
    "a broken library",
    "import 'broken'; export function transformEvent() {}",
    {
      message: "SyntaxError: Unexpected token ';' [library broken:1:18]",
      line: 1,
      column: 18,
      library: "broken",
    },
  ],
  [
    "a library that imports",
    "import 'importing'; export function transformEvent() {}",
    { message: "Error: import from myLib failed. Module not found." },
  ],
  ["an endless loop", "for (;;);", { message: TIMED_OUT }],
  ["a loop of promises", "for (;;) await null;", { message: TIMED_OUT }],
  ["a loop after an await", "await null; for (;;);", { message: TIMED_OUT }],
  ["a promise that never settles", "await new Promise(() => {})", { message: "Timed out" }],
  ["a throw of anything", "throw { code: 1 }", { message: '{"code":1}' }],
];

for (const [name, code, error] of loadErrors) {
  test(`check reports ${name}`, async () => {
    const libraries = [
      library("myLib", "export const x = 1"),
      library("broken", "export const a = ;"),
      library("importing", "import { x } from 'myLib'"),
    ];
    const loops = "message" in error && error.message === TIMED_OUT;
    const one = program(code, { libraries });
    const report = await (loops ? strict : sandbox).check(one, batch({}));
    expect(report).toEqual({ error: expect.objectContaining(error), outcomes: [], logs: [] });
  });
}

test("check returns outcomes and logs", async () => {
  const code = `export function transformEvent(event) {
    log("a", 1, true, null, undefined, { x: 1 }, [1, 2]);
    log();
    if (event.bad) throw new Error("bad");
    return event;
  }`;
  const report = await sandbox.check(program(code), batch({ n: 1 }, { bad: true }));
  expect(shown(report.outcomes)).toEqual([[{ n: 1 }], expect.stringMatching(/^Error: bad\n/)]);
  const lines = ['Log: a 1 true null undefined {"x":1} [1,2]', "Log:"];
  const logged = [0, 1].flatMap((event) => [
    { text: lines[0]!, event, line: 2 },
    { text: lines[1]!, event, line: 3 },
  ]);
  expect(report.logs).toEqual(logged);
});

test("a line of log(...) names its event, where the event is known, and its line of code", async () => {
  const code = `import { say } from "myLib";
  export async function transformEvent(event) {
    say(event.n);
    await null;
    log("later");
    return event;
  }`;
  const libraries = [library("myLib", "export const say = (x) =>\n log(x);")];
  const { logs } = await sandbox.check(program(code, { libraries }), batch({ n: 1 }, { n: 2 }));
  expect(logs).toEqual([
    { text: "Log: 1", event: 0, line: 2, library: "myLib" },
    { text: "Log: 2", event: 1, line: 2, library: "myLib" },
    { text: "Log: later", line: 5 },
    { text: "Log: later", line: 5 },
  ]);
  const alone = await sandbox.check(program(code, { libraries }), batch({ n: 1 }));
  expect(alone.logs[1]).toEqual({ text: "Log: later", event: 0, line: 5 });
});

test("log of a value that cannot be shown fails no event", async () => {
  const code = `export function transformEvent(event) {
    const circle = {};
    circle.self = circle;
    log(circle, { n: 1n }, Object.create(null), { get n() { throw null; } }, 1n);
    return event;
  }`;
  const { outcomes, logs } = await sandbox.check(program(code), batch({ n: 1 }));
  expect(shown(outcomes)).toEqual([[{ n: 1 }]]);
  const hidden = "(a value that cannot be shown)";
  expect(logs).toMatchObject([{ text: `Log: ${hidden} ${hidden} {} ${hidden} 1` }]);
});

test("log lines have no file and line if code replaces the engine's Error", async () => {
  const code = `
    Error.stackTraceLimit = 0;
    export function transformEvent(event) { log("x"); return event; }`;
  const { logs, outcomes } = await sandbox.check(program(code), batch({ n: 1 }));
  expect(logs).toEqual([{ text: "Log: x", event: 0 }]);
  expect(shown(outcomes)).toEqual([[{ n: 1 }]]);
});

test("check runs in a separate guest", async () => {
  const counting = program("let n = 0; export const transformEvent = () => ({ n: ++n })");
  for (let i = 0; i < 2; i += 1) {
    expect(shown((await sandbox.check(counting, batch({}))).outcomes)).toEqual([[{ n: 1 }]]);
  }
});

test("inspect lists imports in code order", async () => {
  const code = `// import "comment"
    import b, { c } from "beta"; import * as a from "alpha"; export { x } from "gamma";
    import "beta";
    for (;;);`;
  expect(await sandbox.inspect("w1", "javascript", code)).toEqual({
    imports: ["beta", "alpha", "gamma"],
  });
  expect(await sandbox.inspect("w1", "javascript", "import 'a'; const =")).toEqual({
    imports: [],
    error: expect.objectContaining({ line: 1 }),
  });
});

test("a name in an import that is longer than an error message is reported as unknown", async () => {
  const long = "x".repeat(5_000);
  const libraries = [library("myLib", "export const a = 1;")];
  const { imports } = await sandbox.inspect("w1", "javascript", `import a from "${long}";`);
  expect(imports).toEqual([long.slice(0, 4_096)]);
  for (const code of [`import a from "${long}";`, `import { ${long} } from "myLib";`]) {
    const { error } = await sandbox.check(program(code, { libraries }), batch({ n: 1 }));
    expect(error?.message).toMatch(/xxx$/);
  }
});

test("a library is valid, or its error is reported", async () => {
  const check = (code: string) =>
    sandbox.checkLibrary("w1", "javascript", library("lib", code), []);
  expect(await check("export const a = 1")).toBeUndefined();
  expect(await check("const a = 1")).toBeUndefined();
  expect(await check("\nthrow new Error('boom')")).toMatchObject({ message: "boom", line: 2 });
  expect(await check("export const a = ;")).toMatchObject({ line: 1, column: 18 });
  const looping = library("lib", "for (;;);");
  const error = await strict.checkLibrary("w1", "javascript", looping, []);
  expect(error).toMatchObject({ message: TIMED_OUT });
  expect(await check("import 'other'")).toMatchObject({
    message: "import from other failed. Module not found.",
  });
});

test("several batches run in one guest, and each meets the program as it was loaded", async () => {
  const code = `let count = 0;
    export function transformEvent(event) {
      if (event.kill) for (;;);
      return { n: ++count };
    }`;
  const batches = [batch({}, {}), batch({}), batch({ kill: true }, {}), batch({})];
  const reports = await strict.checkAll(program(code), batches.slice(0, 2));
  expect(reports.map(({ outcomes }) => shown(outcomes))).toEqual([
    [[{ n: 1 }], [{ n: 2 }]],
    [[{ n: 1 }]],
  ]);
  // An event that uses up its time fails alone, and the next batch runs.
  const killed = await strict.checkAll(program(code), batches.slice(2));
  expect(killed[0]!.outcomes[0]).toMatchObject({ error: { message: TIMED_OUT } });
  expect(shown(killed[1]!.outcomes)).toEqual([[{ n: 1 }]]);
  const broken = await strict.checkAll(program("export const"), batches.slice(0, 2));
  expect(broken.map(({ error, outcomes }) => [Boolean(error), outcomes])).toEqual([
    [true, []],
    [true, []],
  ]);
});
