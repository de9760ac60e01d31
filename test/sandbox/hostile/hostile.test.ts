import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import type { GuestSandbox } from "../../../src/sandbox/guest-sandbox.ts";
import type { GuestFetchRequest } from "../../../src/sandbox/host-calls/host-functions.ts";
import { languageProfiles } from "../../../src/sandbox/process/language-profiles.ts";
import { testsOfTier } from "../../tier.ts";
import {
  batch,
  guestCommand,
  hasty,
  PATIENCE_MS,
  program,
  shown,
  testSandbox,
  watchMemory,
} from "../support.ts";
import { type Canaries, otherWorkspacesSecret, setCanaries } from "./canaries.ts";

setDefaultTimeout(PATIENCE_MS);

/**
 * Programs that try to get out, to stay for ever or to take everything, one file each. Programs
 * named `escaped-…` are out of their realm already: a guest of the test hands them its own
 * `globalThis` and raw system calls, so that only the operating system holds them. Programs named
 * `handed-…` are given objects of the guest's own realm, which is sealed.
 *
 * Each file says what it must end in (`expect`, matched with the error or the outputs), which it
 * can only when it really ran, and perhaps which file stands before it (`with`).
 */
const directory = join(import.meta.dir, "javascript");
const all = readdirSync(directory)
  .filter((name) => name.endsWith(".js"))
  .sort();
/** Code and expected end of each program, by its file. */
const programs = new Map(all.map((file) => [file, readProgram(file)]));
/** Programs that use up CPU, memory or time. They are alike and cost seconds each. */
const costly = all.filter((file) => /timed out|memory/.test(programs.get(file)!.expected));
/** These end by the clock, three times each: they sleep side by side. */
const sleepers = /^escaped-(never-answers|sleep|stop-itself)\.js$/;
/** The quick tier runs every eighth of them without the sleepers, and all others. */
const left = costly.filter((file, index) => index % 8 !== 0 || sleepers.test(file));
const files = testsOfTier(all, (file) => left.includes(file));
const handedEntry = join(import.meta.dir, "handed-guest-entry.ts");
const escapedEntry = join(import.meta.dir, "escaped-guest-entry.ts");

/**
 * The kernel holds a guest to its address space. The server, which measures every 25 ms when it has
 * a processor, ends it earlier: how much earlier depends on how busy the machine is.
 */
const PEAK_BYTES_MAX = languageProfiles.javascript.addressKibMax * 1_024;

let canaries: Canaries;
let entries: Record<"realm" | "handed" | "escaped", ReturnType<typeof sandboxes>>;
const logged: string[] = [];

beforeAll(() => {
  canaries = setCanaries();
  entries = {
    realm: sandboxes(guestCommand),
    handed: sandboxes([process.execPath, handedEntry, "guest"]),
    escaped: sandboxes([process.execPath, escapedEntry, "guest"]),
  };
});
afterAll(async () => {
  const all = Object.values(entries).flatMap(({ hasty, patient }) => [hasty, patient]);
  await Promise.all(all.map((sandbox) => sandbox.close()));
  canaries.close();
});

function sandboxes(command: string[]) {
  const log = pino({ level: "trace" }, { write: (line: string) => void logged.push(line) });
  const fetch = async ({ url }: GuestFetchRequest) => {
    if (url !== "http://answers") throw new Error("refused");
    return { url, status: 200, headers: {}, body: "{}" };
  };
  const options = { log, fetch, guestCommand: command };
  return {
    hasty: testSandbox({ ...options, limits: { ...hasty, wallMs: 5_000 } }),
    // Not time is to end these, however slow the processor is.
    patient: testSandbox(options),
  };
}

test("there are at least sixty programs", () => {
  expect(all.length).toBeGreaterThanOrEqual(60);
});

const awake = files.filter((file) => !sleepers.test(file));

for (const file of [...awake, ...files.filter((file) => sleepers.test(file))]) {
  const add = awake.includes(file) ? test : test.concurrent;
  const workspaceId = awake.includes(file) ? "w1" : file;
  add(file, async () => {
    const { code, expected } = programs.get(file)!;
    const sandbox = sandboxFor(file, expected);
    logged.length = 0;
    const peak = watchMemory();
    const hostile = program(code, { workspaceId, credentials: { own: "mine" } });
    const events = batch({ n: 1, canary: canaries.told });

    const other = sandbox.run(bystander("w2", { otherSecret: otherWorkspacesSecret }), batch({}));
    const inCheck = /^\/\/ in: check$/m.test(code);
    const outcomes = inCheck
      ? (await sandbox.check(hostile, events)).outcomes
      : await sandbox.run(hostile, events);
    const [outcome] = shown(outcomes);
    const text = typeof outcome === "string" ? outcome : JSON.stringify(outcome);
    expect(text).toMatch(new RegExp(expected));

    // The next event of another program is right, in the same workspace and in another one.
    expect(shown(await sandbox.run(bystander(workspaceId, {}), batch({})))).toEqual([[{ n: 1 }]]);
    expect(shown(await other)).toEqual([[{ n: 1 }]]);
    const report = await sandbox.check(hostile, events);
    const told = JSON.stringify([outcome, shown(report.outcomes), report.logs, report.error]);
    expect(canaries.reached(told + logged.join(""))).toEqual([]);
    expect(peak()).toBeLessThan(PEAK_BYTES_MAX);
  });
}

function readProgram(file: string) {
  const own = readFileSync(join(directory, file), "utf8");
  const before = /^\/\/ with: (.+)$/m.exec(own)?.[1];
  const code = before ? readFileSync(join(import.meta.dir, before), "utf8") + own : own;
  const expected = /^\/\/ expect: (.+)$/m.exec(code)?.[1];
  if (!expected) throw new Error(`Expected a line \`// expect: <pattern>\` in ${file}`);
  return { code, expected };
}

function sandboxFor(file: string, expected: string): GuestSandbox {
  const entry = /^(handed|escaped)-/.exec(file)?.[1] as "handed" | "escaped" | undefined;
  const { hasty, patient } = entries[entry ?? "realm"];
  return /timed out/i.test(expected) ? hasty : patient;
}

function bystander(workspaceId: string, credentials: Record<string, string>) {
  const code = "globalThis.bystander = 1; export const transformEvent = () => ({ n: 1 })";
  return program(code, { workspaceId, credentials });
}
