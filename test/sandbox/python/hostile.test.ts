import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { GUEST_PYTHON_MEMORY_BYTES_MAX } from "../../../src/settings/limits.ts";
import { withEngineOptions } from "../../e2e/command.ts";
import { testsOfTier } from "../../tier.ts";
import { type Canaries, otherWorkspacesSecret, setCanaries } from "../hostile/canaries.ts";
import { batch, guestCommand, PATIENCE_MS, program, shown, watchMemory } from "../support.ts";
import { hastyPython, python, pythonSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

/**
 * Python programs that try to get out, to stay for ever or to take everything, one file each.
 * Python has no realm to be in: from Pyodide there is always a way to objects of JavaScript's,
 * in the guest's own realm, which is sealed. A program marked `in: unsealed` has that realm open:
 * only the operating system holds it.
 *
 * They harm nothing but the canaries where the confinement fails: signals are number 0.
 *
 * Each file says what it must end in (`expect`, matched with the error or the outputs), which it
 * can only when it really ran. `spoils` marks those that break the interpreter they share with
 * other programs of their workspace: that costs these their guest, and no other workspace.
 */
const directory = join(import.meta.dir, "hostile");
const all = readdirSync(directory)
  .filter((name) => name.endsWith(".py"))
  .sort();
/** Pattern of the outcome of each program, by its file. */
const expectations = new Map(all.map((file) => [file, expectationOf(file)]));
/** Programs that may end their guest. A guest costs a second of CPU, and so does its successor. */
const ending = all.filter((file) => expectations.get(file)!.includes("Script"));
/**
 * The quick tier runs one for each way in which a guest ends, and all programs that leave theirs
 * alive.
 */
const quickEnding = [
  "exit-by-abort.py", // crashes
  "javascript-floods-the-host.py", // forges answers
  "loop-at-top-level.py", // is out of time
  "memory-at-once.py", // is out of memory
];
const left = ending.filter((file) => !quickEnding.includes(file));
const files = testsOfTier(all, (file) => left.includes(file));

function expectationOf(file: string): string {
  const code = readFileSync(join(directory, file), "utf8");
  const expected = /^# expect: (.+)$/m.exec(code)?.[1];
  if (!expected) throw new Error(`Expected a line \`# expect: <pattern>\` in ${file}`);
  return expected;
}

/** An idle guest has 220 MB; between two looks of the watch one can take 60 MB more. */
const PEAK_BYTES_MAX = GUEST_PYTHON_MEMORY_BYTES_MAX + (400 << 20);

let canaries: Canaries;
let sealed: ReturnType<typeof sandboxes>;
let unsealed: ReturnType<typeof sandboxes>;
const logged: string[] = [];

beforeAll(() => {
  canaries = setCanaries();
  sealed = sandboxes(guestCommand);
  const entry = join(import.meta.dir, "unsealed-guest-entry.ts");
  unsealed = sandboxes([...withEngineOptions, process.execPath, entry, "guest"]);
});
afterAll(async () => {
  const all = [sealed.hasty, sealed.patient, unsealed.hasty, unsealed.patient];
  await Promise.all(all.map((one) => one.close()));
  canaries.close();
});

function sandboxes(command: string[]) {
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  const options = { log, guestCommand: command };
  return {
    hasty: pythonSandbox({ ...options, limits: hastyPython }),
    // Not time is to end these, however slow the processor is.
    patient: pythonSandbox(options),
  };
}

test("there are at least forty programs", () => {
  expect(all.length).toBeGreaterThanOrEqual(40);
});

for (const file of files) {
  test(file, async () => {
    const code = readFileSync(join(directory, file), "utf8");
    const expected = expectations.get(file)!;
    const open = /^# in: unsealed$/m.test(code);
    const guests = open ? unsealed : sealed;
    const sandbox = /timed out/.test(expected) ? guests.hasty : guests.patient;
    const spoils = /^# spoils: /m.test(code);
    const hostile = program(code, {
      language: "python",
      workspaceId: spoils ? file : "w1",
      credentials: { own: "mine" },
    });
    const events = batch({ n: 1, canary: canaries.told });
    logged.length = 0;
    const peak = watchMemory();

    const other = sandbox.run(bystander("w2", { otherSecret: otherWorkspacesSecret }), batch({}));
    const [outcome] = shown(await sandbox.run(hostile, events));
    const text = typeof outcome === "string" ? outcome : JSON.stringify(outcome);
    expect(text).toMatch(new RegExp(expected));

    // The next event of another program is right, in the same workspace (unless it is spoilt)
    // and in another one.
    expect(shown(await sandbox.run(bystander("w1", {}), batch({})))).toEqual([[{ n: 1 }]]);
    expect(shown(await other)).toEqual([[{ n: 1 }]]);
    expect(canaries.reached(text + logged.join(""))).toEqual([]);
    expect(peak()).toBeLessThan(PEAK_BYTES_MAX);
  });
}

function bystander(workspaceId: string, credentials: Record<string, string>) {
  const code = `
    import json
    def transformEvent(event, metadata):
        return json.loads('{"n": 1}')
  `;
  return python(code, { workspaceId, credentials });
}
