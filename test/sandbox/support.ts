import { readFileSync } from "node:fs";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/guest-sandbox.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import {
  type Program,
  type ProgramBatch,
  type ProgramOutcome,
  unsharedMetadata,
} from "../../src/sandbox/program.ts";

import { pixelmillCommand } from "../e2e/command.ts";

export { until as eventually } from "../until.ts";

/** How long a test may take: a busy machine hands out CPU time slowly. */
export const PATIENCE_MS = 300_000;

/**
 * Budgets for tests with endless loops, which use them up. Code that ends gets the budgets of
 * `testSandbox`, since a slow processor needs many times the time of a fast one.
 */
export const hasty = { cpuMs: 200 };

/** Starts a guest, as the server does. Under the runner it is the executable's. */
export const guestCommand = [...pixelmillCommand, "guest"];

/**
 * A sandbox with real guests, budgets that no honest code of a test comes near, and no log. It
 * starts no guest before one is needed: a spare one costs as much as one that works.
 */
export function testSandbox(options: Partial<SandboxOptions> = {}) {
  return createSandbox({
    guestCommand,
    insecure: false,
    log: pino({ level: "silent" }),
    metrics: new Registry(),
    ...options,
    // Tests kill one guest after another in one workspace.
    limits: {
      ...{ cpuMs: 20_000, graceMs: 200, wallMs: 120_000, freeLosses: 1_000, spares: 0 },
      ...options.limits,
    },
  });
}

/** A test sandbox that keeps spare guests, as the server's does. */
export function sandboxWithSpares(options: Partial<SandboxOptions> = {}) {
  const { spares } = defaultLimits;
  return testSandbox({ ...options, limits: { spares, ...options.limits } });
}

let programs = 0;

export function program(code: string, more: Partial<Program> = {}): Program {
  programs += 1;
  return {
    id: `program-${programs}`,
    workspaceId: "w1",
    language: "javascript",
    name: "My T",
    code,
    libraries: [],
    credentials: {},
    ...more,
  };
}

export function library(importName: string, code: string) {
  return { importName, versionId: `version-of-${importName}`, code };
}

/** Events with metadata that has their source. */
export function batch(...events: object[]): ProgramBatch {
  return {
    events: events.map((event) => Buffer.from(JSON.stringify(event))),
    metadata: events.map((event) =>
      unsharedMetadata({ sourceId: "s1", messageId: Reflect.get(event, "messageId") }),
    ),
  };
}

/** Events as people write them for a test, without a messageId, each of another name. */
export const nameless: ProgramBatch = {
  events: ["one", "two", "three"].map((event) => Buffer.from(JSON.stringify({ event }))),
  metadata: ["one", "two", "three"].map((eventName) => unsharedMetadata({ eventName })),
};

/** Outcomes with events parsed: a list of outputs, or the text of an error. */
export function shown(outcomes: readonly ProgramOutcome[]): unknown[] {
  return outcomes.map((outcome) =>
    "error" in outcome
      ? outcome.error.message
      : outcome.events.map((event) => JSON.parse(Buffer.from(event).toString())),
  );
}

/** Ids of the processes that the main thread of this one has started and that live. */
export function childProcesses(): number[] {
  const pids = readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").trim();
  return pids === "" ? [] : pids.split(" ").map(Number);
}

const PAGE_BYTES = 4_096;

export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/**
 * Reads the memory of all guests every few milliseconds; the result stops that and returns the
 * peak.
 */
export function watchMemory(): () => number {
  let peak = 0;
  const look = () => {
    for (const pid of childProcesses()) peak = Math.max(peak, residentBytes(pid));
  };
  const timer = setInterval(look, 25);
  return () => {
    clearInterval(timer);
    look();
    if (peak === 0) throw new Error("Expected guests to watch");
    return peak;
  };
}
