import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { type ProgramOutcome, unsharedMetadata } from "../../src/sandbox/program.ts";
import cases from "./cases/user-code.json";
import { hasty, library, PATIENCE_MS, program, testSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

/**
 * Results of RudderStack's own runtime (rudder-transformer on V8) for the same code. Where this
 * sandbox differs on purpose, `differences` gives what it does instead, and why.
 */
const differences: Record<string, { why: string; expected: unknown }> = {
  "js-export-list": {
    why: "an aliased export is an export; the other runtime's failure is a quirk (note)",
    expected: { transformedEvents: [{ transformedEvent: { messageId: "m1", x: 1 } }], logs: [] },
  },
  "js-fetch-fail": {
    why: "only r is real (note)",
    expected: {
      transformedEvents: [
        { transformedEvent: { messageId: "m1", r: "ERROR", e: expect.any(String) } },
      ],
      logs: [],
    },
  },
  "js-async-order": {
    why: "the order of outputs follows the order of inputs",
    expected: {
      transformedEvents: [
        { transformedEvent: { messageId: "m1", slow: true } },
        { transformedEvent: { messageId: "m2" } },
      ],
      logs: [],
    },
  },
  "js-loop-after-await": {
    why: "a failed event never takes its batch with it",
    expected: { transformedEvents: [{ error: expect.stringContaining("timed out") }], logs: [] },
  },
  "js-memory": {
    why: "a failed event never takes its batch with it",
    expected: { transformedEvents: [{ error: expect.stringContaining("memory limit") }], logs: [] },
  },
  "js-circular": {
    why: "a failed event never takes its batch with it",
    expected: {
      transformedEvents: [{ error: expect.stringContaining("circular structure") }],
      logs: [],
    },
  },
  "js-libtest-syntax": {
    why: "JavaScriptCore has its own words for this error",
    expected: { ok: false, error: expect.stringContaining("[library library:1:") },
  },
  "js-readonly-global-escape": {
    why: "the names of the other runtime's internals are not to be copied (note)",
    expected: {
      transformedEvents: [
        {
          transformedEvent: {
            messageId: "m1",
            c: true,
            k: "fetch,fetchV2,geolocation,getCredential,global,log",
          },
        },
      ],
      logs: [],
    },
  },
};

interface Case {
  id: string;
  kind: string;
  match: string;
  input: {
    code: string;
    name?: string;
    events?: { messageId?: string }[];
    libraries?: { name: string; code: string }[];
    metadata?: Record<string, object>;
  };
  expected: Expected;
}
interface Expected {
  runError?: string;
  transformedEvents?: { error?: string; transformedEvent?: object }[];
  logs?: string[];
  ok?: boolean;
  error?: string;
}

const sandbox = testSandbox();
/** For code that loops. */
const strict = testSandbox({ limits: hasty });
const sandboxFor = (id: string) => (id.includes("loop") ? strict : sandbox);
afterAll(() => Promise.all([sandbox.close(), strict.close()]));

// The rule of import names has its test in the catalog, which makes them.
for (const one of (cases as unknown as Case[]).filter(({ kind }) => kind !== "import-name")) {
  test(one.id, async () => {
    const actual = one.kind === "js-transform" ? await transformed(one) : await tested(one);
    expect<unknown>(actual).toEqual(differences[one.id]?.expected ?? expectedOf(one));
  });
}

test("every difference is one of the cases", () => {
  const ids = (cases as unknown as Case[]).map(({ id }) => id);
  expect(Object.keys(differences).filter((id) => !ids.includes(id))).toEqual([]);
});

async function transformed({ id, input }: Case): Promise<Expected> {
  const { events = [], metadata = {}, libraries = [] } = input;
  const report = await sandboxFor(id).check(
    program(input.code, {
      name: input.name ?? "base transformation",
      libraries: libraries.map(({ name, code }) => library(importNames[name] ?? name, code)),
    }),
    {
      events: events.map((event) => Buffer.from(JSON.stringify(event))),
      metadata: events.map(({ messageId }) => unsharedMetadata(metadata[String(messageId)] ?? {})),
    },
  );
  if (report.error) return { runError: report.error.message };
  return {
    transformedEvents: report.outcomes.flatMap(elements),
    logs: report.logs.map(({ text }) => text),
  };
}

const importNames: Record<string, string> = { "My Lib": "myLib" };

function elements(outcome: ProgramOutcome): { error?: string; transformedEvent?: object }[] {
  if ("error" in outcome) return [{ error: outcome.error.message }];
  return outcome.events.map((event) => ({
    transformedEvent: JSON.parse(Buffer.from(event).toString()),
  }));
}

async function tested({ input }: Case): Promise<Expected> {
  const error = await sandbox.checkLibrary("w1", "javascript", library("library", input.code), []);
  return error ? { ok: false, error: error.message } : { ok: true };
}

/** The part of an expectation that this interface has: metadata is the pipeline's. */
function expectedOf({ expected, match }: Case): unknown {
  const text = (value: string) => (match === "contains" ? expect.stringContaining(value) : value);
  if (expected.runError !== undefined) return { runError: text(expected.runError) };
  if (expected.error !== undefined) return { ok: expected.ok, error: text(expected.error) };
  if (expected.ok !== undefined) return { ok: expected.ok };
  return {
    transformedEvents: expected.transformedEvents?.map(({ error, transformedEvent }) =>
      error === undefined ? { transformedEvent } : { error: text(error) },
    ),
    logs: expected.logs,
  };
}
