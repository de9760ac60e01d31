import { expect, test } from "bun:test";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { Revision } from "../../src/catalog/model.ts";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import type { Program, ProgramBatch, UserError } from "../../src/sandbox/program.ts";
import type { CheckReport } from "../../src/sandbox/sandbox.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import type { TestBudget } from "../../src/sandbox/test-budget.ts";
import { TEST_REQUESTS_OF_WORKSPACE_MAX } from "../../src/settings/limits.ts";
import { RequestFault } from "../../src/transformer/requests.ts";
import { CodeTests } from "../../src/transformer/test-code/code-tests.ts";

/** Tests of code without a sandbox: requests in, calls of the sandbox and answers out. */

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const published = [
  { versionId: "l1", importName: "one", code: "c1", language: "javascript" },
  { versionId: "l2", importName: "two", code: "c2", language: "pythonfaas" },
] as Revision[];

interface Doubles {
  report?: CheckReport;
  error?: UserError;
  imports?: string[];
  wait?: Promise<void>;
}

function codeTests({ report, error, imports = [], wait }: Doubles) {
  const programs: Program[] = [];
  const batches: ProgramBatch[] = [];
  const libraries: unknown[] = [];
  const budgets: TestBudget[] = [];
  const sandbox = {
    async check(program: Program, batch: ProgramBatch, budget: TestBudget) {
      programs.push(program);
      batches.push(batch);
      budgets.push(budget);
      await wait;
      return report ?? { outcomes: [], logs: [] };
    },
    async checkLibrary(...[owner, language, library, others]: unknown[]) {
      libraries.push([owner, language, library, others]);
      return error;
    },
    inspect: async () => ({ imports, ...(error && { error }) }),
  };
  const everPublished = (kind: string, versionId: string) =>
    kind === "library" ? published.find((it) => it.versionId === versionId) : undefined;
  const tests = new CodeTests(
    { code: { everPublished } } as unknown as Catalog,
    sandbox as unknown as Sandbox,
  );
  return { tests, programs, batches, libraries, budgets };
}

const events = [{ message: { n: 1 }, metadata: { sourceId: "s1" } }, { message: { n: 2 } }];
const trRevCode = { code: "c", language: "javascript" };
const report = {
  outcomes: [{ events: [bytes({ a: 1 }), bytes({ a: 2 })] }, { error: { message: "bad" } }],
  logs: [{ text: "Log: 1" }],
};

test("code runs with the libraries of its own language, as code of no workspace", async () => {
  const { tests, programs, batches, budgets } = codeTests({ report });
  const libraryVersionIDs = ["l1", "l2", "unknown"];
  const credentials = [{ key: "k", value: "v" }];
  await tests.test({ trRevCode, events, libraryVersionIDs, credentials });
  const library = { importName: "one", versionId: "l1", code: "c1" };
  expect(programs).toEqual([
    {
      id: "transformer",
      workspaceId: "transformer",
      language: "javascript",
      name: "base transformation",
      code: "c",
      libraries: [library],
      credentials: { k: "v" },
    },
  ]);
  const [{ events: sent, metadata }] = batches as [ProgramBatch];
  expect(sent.map(String)).toEqual(['{"n":1}', '{"n":2}']);
  expect(metadata).toEqual([
    { shared: '{"sourceId":"s1"}', own: "" },
    { shared: "{}", own: "" },
  ]);
  // A budget that has ended calls at once what waits for its end.
  let isOver = false;
  budgets[0]!.onDispose(() => (isOver = true));
  expect(isOver).toBe(true);
});

test("an answer has the outputs and errors in the order of the events, and the lines of log", async () => {
  const { tests } = codeTests({ report });
  const logs = ["Log: 1"];
  expect(await tests.test({ trRevCode, events })).toEqual({
    transformedEvents: [{ a: 1 }, { a: 2 }, { error: "bad" }],
    logs,
  });
  const metadata = { sourceId: "s1" };
  expect(await tests.testRun({ codeRevision: trRevCode, input: events })).toEqual({
    transformedEvents: [
      { transformedEvent: { a: 1 }, metadata },
      { transformedEvent: { a: 2 }, metadata },
      { error: "bad", metadata: {} },
    ],
    logs,
  });
});

test("code that does not load is the fault of the request", async () => {
  const error = { message: "no syntax" };
  const { tests } = codeTests({ report: { outcomes: [], logs: [], error }, error });
  const requests = [
    () => tests.test({ trRevCode, events }),
    () => tests.testRun({ codeRevision: trRevCode, input: events }),
    () => tests.testLibrary({ code: "c" }),
    () => tests.extractLibs({ code: "c" }),
  ];
  for (const request of requests) {
    await expect(request()).rejects.toThrow(new RequestFault("no syntax"));
  }
  await expect(tests.testLibrary({ code: "" })).rejects.toThrow("Invalid request. Missing code");
  await expect(tests.extractLibs({})).rejects.toThrow("Invalid request. Code is missing");
});

test("a library is answered by true in JavaScript, the default, and by its imports in Python", async () => {
  const { tests, libraries } = codeTests({ imports: ["json"] });
  expect(await tests.testLibrary({ code: "c" })).toBe(true);
  expect(await tests.testLibrary({ code: "c", language: "pythonfaas" })).toEqual({ json: [] });
  const library = { importName: "library", versionId: "library", code: "c" };
  expect(libraries).toEqual([
    ["transformer", "javascript", library, []],
    ["transformer", "python", library, []],
  ]);
  const code = 'import { a } from "json"';
  expect(await tests.extractLibs({ code })).toEqual({ json: ["a"] });
  expect(await tests.extractLibs({ code, language: "python" })).toEqual({ json: [] });
});

test("more requests at once than the limit are sent again, and room is given back", async () => {
  const { promise: wait, resolve: end } = Promise.withResolvers<void>();
  const { tests } = codeTests({ wait });
  const send = () => tests.test({ trRevCode, events });
  const running = Array.from({ length: TEST_REQUESTS_OF_WORKSPACE_MAX }, send);
  await expect(send()).rejects.toThrow(SandboxUnavailable);
  end();
  await Promise.all(running);
  expect(await send()).toEqual({ transformedEvents: [], logs: [] });
});
