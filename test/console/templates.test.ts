import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { codeTemplates } from "../../src/console/code/samples/templates.ts";
import { formatJavaScript } from "../../src/console/editor/format-code.ts";
import { testWith } from "../counterpart.ts";
import { python, pythonSandbox } from "../sandbox/python/support.ts";
import { batch, PATIENCE_MS, program, shown, testSandbox } from "../sandbox/support.ts";
import { isQuickTier, longTierMissing } from "../tier.ts";

setDefaultTimeout(PATIENCE_MS);

const credentials = { CRM_TOKEN: "s3cret" };

/** Requests that templates made. */
const requests: unknown[] = [];
const javascript = testSandbox({
  async fetch({ url, headers }) {
    requests.push([url, headers]);
    return { url, status: 200, headers: {}, body: '{"segment":"enterprise"}' };
  },
});
const interpreter = pythonSandbox();
afterAll(() => Promise.all([javascript.close(), interpreter.close()]));

describe.each(codeTemplates)("the template $name", ({ name, code, event, outputs, ...more }) => {
  test("gives its outputs in JavaScript", async () => {
    const run = javascript.run(program(code.javascript, { credentials }), batch(event));
    expect(shown(await run)).toEqual([outputs]);
    if (more.credentials === undefined) return;
    expect(requests).toEqual([
      ["https://crm.example.com/users/u%201", { Authorization: "Bearer s3cret" }],
    ]);
  });

  // A guest with an interpreter costs seconds of CPU.
  const pythonCode = code.python;
  if (pythonCode !== undefined) {
    testWith(longTierMissing)("gives its outputs in Python", async () => {
      const run = interpreter.run(python(pythonCode), batch(event));
      expect(shown(await run)).toEqual([outputs]);
    });
  }

  test("passes an event without the fields that it reads", async () => {
    const bare = { type: "page", name: "Home" };
    const run = javascript.run(program(code.javascript, { credentials }), batch(bare));
    expect(shown(await run)).toEqual([[expect.objectContaining(bare)]]);
    if (code.python === undefined || isQuickTier) return;
    const passed = interpreter.run(python(code.python), batch(bare));
    expect(shown(await passed)).toEqual([[expect.objectContaining(bare)]]);
  });

  test("is formatted, and reads the credentials that it names", async () => {
    expect(await formatJavaScript(code.javascript)).toBe(code.javascript);
    const read = [...code.javascript.matchAll(/getCredential\("(\w+)"\)/g)].map(([, it]) => it!);
    expect([name, read]).toEqual([name, [...(more.credentials ?? [])]]);
  });
});
