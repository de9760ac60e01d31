import { expect, setDefaultTimeout, test } from "bun:test";
import { Guest } from "../../../src/sandbox/process/guest.ts";
import { GuestEndedError } from "../../../src/sandbox/process/guest-end.ts";
import { languageProfiles } from "../../../src/sandbox/process/language-profiles.ts";
import type { ExitSignal } from "../../../src/sandbox/process/launch-guest.ts";
import { parseInspectReply } from "../../../src/sandbox/protocol/reply-parser.ts";
import {
  describeStartFailure,
  type FailedGuest,
} from "../../../src/sandbox/scheduling/start-failure.ts";
import {
  batch,
  eventually,
  guestCommand,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

const spawn = (code: string, path = "/bin/sh") =>
  Object.assign(new Error(`${code}: posix_spawn`), { code, path });
const dead = (code: number | null, signal: ExitSignal, stderr = ""): FailedGuest => ({
  ended: { code, signal },
  stderr,
});
const crash = new GuestEndedError("crash");

const failures: [what: string, error: unknown, guest: FailedGuest | undefined, said: string][] = [
  ["no shell", spawn("ENOENT"), undefined, "/bin/sh, which starts them, is not there"],
  [
    "a shell that may not run",
    spawn("EACCES"),
    undefined,
    "/bin/sh, which starts them, may not be run",
  ],
  ["no memory", spawn("ENOMEM"), undefined, "the system has no memory for another process"],
  ["no processes", spawn("EAGAIN"), undefined, "the system makes no more processes for this user"],
  ["no descriptors", spawn("EMFILE"), undefined, "no file descriptors are left"],
  ["anything else", spawn("E2BIG"), undefined, "the system makes no process: E2BIG: posix_spawn"],
  [
    "no program",
    crash,
    dead(127, null, "x: 1: exec: \nx: not found\n"),
    "they cannot be run (code 127): x: 1: exec: x: not found",
  ],
  [
    "a killer",
    crash,
    dead(null, "SIGKILL"),
    "they are killed by the system, most likely for want of memory",
  ],
  [
    "a fault",
    crash,
    dead(null, "SIGSEGV", "oops"),
    "they end with SIGSEGV, most likely for want of memory: oops",
  ],
  [
    "an exit",
    crash,
    dead(2, null, "sh: 1: ulimit: bad"),
    "they end with code 2: sh: 1: ulimit: bad",
  ],
  [
    "a hang",
    new GuestEndedError("timeout"),
    dead(null, "SIGKILL"),
    "they take over 20 s of CPU time, or hang",
  ],
  [
    "another program",
    new GuestEndedError("violation"),
    dead(null, "SIGKILL"),
    "what answers is no guest of this version",
  ],
];

for (const [what, error, guest, said] of failures) {
  test(`a start that fails for ${what} says so`, () => {
    expect(describeStartFailure(error, guest)).toBe(said);
  });
}

test("a guest's output before its death is in the reason", async () => {
  const sandbox = sandboxWithSpares({ guestCommand: ["/nowhere/pixelmill"] });
  const said = /^Guests do not start: they cannot be run \(code 127\): .*not found$/;
  await eventually(() => said.test(sandbox.status().reason ?? ""));
  await eventually(() => sandbox.status().state === "unavailable");
  await sandbox.close();
});

test("guests are started again without work, and the reason is in the status at once", async () => {
  const command = ["/nowhere/pixelmill"];
  const sandbox = sandboxWithSpares({ guestCommand: command });
  await eventually(() => sandbox.status().reason !== undefined);
  expect(sandbox.status().state).toBe("starting");
  command.splice(0, 1, ...guestCommand);
  await eventually(() => sandbox.status().state === "ready");
  expect(sandbox.status().reason).toBeUndefined();
  await sandbox.close();
});

test("Python guests that do not start hold up no JavaScript", async () => {
  const script = 'case "$*" in *python) exit 9;; *) exec "$0" "$@";; esac';
  const sandbox = sandboxWithSpares({
    guestCommand: ["/bin/sh", "-c", script, ...guestCommand],
  });
  const python = program("def transformEvent(event, metadata): return event", {
    language: "python",
  });
  const refused = sandbox.run(python, batch({})).catch((error) => error.message);
  await eventually(() => sandbox.status().state === "unavailable");
  expect(await refused).toBe("Python guests do not start: they end with code 9");
  const javascript = program("export const transformEvent = (event) => event");
  expect(shown(await sandbox.run(javascript, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  expect(sandbox.status()).toMatchObject({ state: "unavailable" });
  await sandbox.close();
});

/** End of a process that never replies, watched like the starter does. */
async function watched(script: string, patient: boolean, ms: number): Promise<string> {
  const guest = new Guest(["/bin/sh", "-c", script], "javascript", languageProfiles.javascript);
  const allowance = {
    cpuMs: patient ? 1e6 : 300,
    wallMs: 500,
    replyBytesMax: 1_000,
    restartsClockOnCpu: patient,
  };
  const asked = guest.request({ kind: "inspect", code: "" }, [], allowance, parseInspectReply).then(
    () => "answered",
    (error) => error.end,
  );
  const watch = setInterval(() => guest.enforceLimits(0, 1), 25);
  const end = await Promise.race([asked, Bun.sleep(ms).then(() => "still there")]);
  clearInterval(watch);
  guest.kill("retired");
  return end;
}

/** Takes a core, but not for ever when the test is killed before it ends its guest. */
const spin = "ulimit -t 60; while :; do :; done";

test("a start that makes progress is not killed, one that hangs is", async () => {
  expect(await watched(spin, true, 1_000)).toBe("still there");
  expect(await watched(spin, false, PATIENCE_MS)).toBe("timeout");
  expect(await watched("exec sleep 300", true, PATIENCE_MS)).toBe("timeout");
});
