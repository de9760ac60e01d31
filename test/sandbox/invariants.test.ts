import { expect, setDefaultTimeout, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { AttemptBudget } from "../../src/sandbox/batch/attempt-budget.ts";
import { noLogs } from "../../src/sandbox/batch/batch-logs.ts";
import { BatchRun } from "../../src/sandbox/batch/batch-run.ts";
import { loadProgram } from "../../src/sandbox/batch/load-program.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { Guest } from "../../src/sandbox/process/guest.ts";
import { GuestChannel } from "../../src/sandbox/process/guest-channel.ts";
import { languageProfiles } from "../../src/sandbox/process/language-profiles.ts";
import { ResourceMonitor } from "../../src/sandbox/process/resource-monitor.ts";
import { GuestFrameReader } from "../../src/sandbox/protocol/guest-frames.ts";
import { GuestAdmission, type GuestHolder } from "../../src/sandbox/scheduling/guest-admission.ts";
import { GuestLossBackoff } from "../../src/sandbox/scheduling/guest-loss-backoff.ts";
import type { GuestStarter } from "../../src/sandbox/scheduling/guest-starter.ts";
import { WorkspaceGuest } from "../../src/sandbox/scheduling/workspace-guest.ts";
import { TestBudget } from "../../src/sandbox/test-budget.ts";
import { batch, PATIENCE_MS, program } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const exchangeLimits = { cpuMs: 1_000, wallMs: 1_000, replyBytesMax: 100 };

const guestOf = (script: string) =>
  new Guest(["/bin/sh", "-c", script], "javascript", languageProfiles.javascript);

test("a run that settles an event twice fails", () => {
  const run = new BatchRun(program(""), batch({}, {}), {
    limits: defaultLimits,
    logs: noLogs,
    culpritsMax: 1,
    bytesMax: 1,
    hostFunctions: {},
  });
  run.settle(1, { events: [] });
  expect(() => run.settle(1, { events: [] })).toThrow("settles each event of its batch once");
});

test("a guest is refused code of a second workspace or language", () => {
  const guest = guestOf("exec sleep 60");
  guest.assign({ workspaceId: "w1", language: "javascript" });
  guest.assign({ workspaceId: "w1", language: "javascript" });
  expect(() => guest.assign({ workspaceId: "w2", language: "javascript" })).toThrow(
    "one workspace and one language",
  );
  expect(() => guest.assign({ workspaceId: "w1", language: "python" })).toThrow(
    "one workspace and one language",
  );
  guest.kill("retired");
});

test("code of a second workspace fails its batch and leaves the guest alive", async () => {
  const guest = guestOf("exec sleep 60");
  guest.assign({ workspaceId: "w1", language: "javascript" });
  const foreign = program("", { workspaceId: "w2" });
  const budget = new AttemptBudget(defaultLimits, 1);
  await expect(loadProgram(guest, foreign, defaultLimits, budget, {})).rejects.toThrow(
    InvariantError,
  );
  expect(guest.dying).toBe(false);
  guest.kill("retired");
});

test("a CPU debt that is not a number is refused", () => {
  const monitor = new ResourceMonitor(process.pid, languageProfiles.javascript);
  expect(() => monitor.setCpuDebt(Number.NaN)).toThrow("CPU debt");
  monitor.setCpuDebt(-1);
  expect(monitor.cpuDebtMs).toBe(0);
});

test("a fault of the host while it measures a guest ends that guest and its request", async () => {
  const guest = guestOf("exec sleep 60");
  const request = guest.request({ kind: "inspect", code: "" }, [], exchangeLimits, () => {});
  // The first measurement is what the second one compares with.
  guest.enforceLimits(0, 1);
  guest.enforceLimits(0, Number.NaN);
  await expect(request).rejects.toThrow("CPU debt");
  expect(guest.hostFault).toBeInstanceOf(InvariantError);
  await guest.exited;
  expect(guest.ended?.end).toBe("retired");
});

test("a frame over the bound of its exchange is not parsed", () => {
  const { next } = GuestFrameReader.prototype;
  const channel = new GuestChannel(
    () => {},
    () => {},
  );
  const request = channel.request({ kind: "inspect", code: "" }, [], exchangeLimits);
  request.catch(() => {});
  try {
    GuestFrameReader.prototype.next = () => Buffer.alloc(101);
    expect(() => channel.receive(Buffer.alloc(1))).toThrow("fits the exchange's bound");
  } finally {
    GuestFrameReader.prototype.next = next;
  }
});

test("a workspace that is not admitted gets no guest", () => {
  const holder: GuestHolder = {
    idleSince: undefined,
    memoryBytes: 0,
    isSecond: false,
    onAdmit() {},
    evict() {},
  };
  const limits = { guestsMax: 1, hasMemory: () => true, isOverMemory: () => false };
  const admission = new GuestAdmission(limits);
  expect(() => admission.assertAdmitted(holder)).toThrow("Only admitted workspaces");
  admission.request(holder);
  admission.assertAdmitted(holder);
  limits.guestsMax = 0;
  expect(() => admission.assertAdmitted(holder)).toThrow("at most as many as its bound");
  admission.close();
});

test("a guest that is being replaced gets no more batches, and the batch fails", async () => {
  const admission = new GuestAdmission<WorkspaceGuest>({
    guestsMax: 1,
    hasMemory: () => true,
    isOverMemory: () => false,
  });
  const guest = guestOf("exec sleep 60");
  const starter = { acquire: async () => guest } as unknown as GuestStarter;
  const workspace = new WorkspaceGuest(starter, admission, "javascript", new GuestLossBackoff(1));
  const perform = () =>
    new Promise<unknown>((resolve) => {
      workspace.enqueue({
        bytes: 1,
        perform: async (source) => resolve(await source.guest()),
        reject: resolve,
      });
    });
  expect(await perform()).toBe(guest);
  guest.request({ kind: "inspect", code: "" }, [], exchangeLimits, () => {}).catch(() => {});
  guest.retire();
  expect(await perform()).toBeInstanceOf(InvariantError);
  guest.kill("retired");
  admission.close();
});

test("outputs of a negative size are refused by a test budget", () => {
  using budget = new TestBudget();
  expect(() => budget.holdOutput(-1)).toThrow("size that is not negative");
});
