import { afterAll, expect, onTestFinished, setDefaultTimeout, spyOn, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { pino } from "pino";
import { Guest } from "../../../src/sandbox/process/guest.ts";
import type { GuestEndCause } from "../../../src/sandbox/process/guest-end.ts";
import {
  type LanguageProfile,
  languageProfiles,
} from "../../../src/sandbox/process/language-profiles.ts";
import { launchGuest } from "../../../src/sandbox/process/launch-guest.ts";
import { ResourceMonitor } from "../../../src/sandbox/process/resource-monitor.ts";
import { parseInspectReply } from "../../../src/sandbox/protocol/reply-parser.ts";
import { runs } from "../../tier.ts";
import {
  batch,
  childProcesses,
  eventually,
  guestCommand,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

const guests: Guest[] = [];
afterAll(() => {
  for (const guest of guests) guest.kill("retired");
});

function startGuest(...command: string[]): Guest {
  return startGuestWith({}, ...command);
}

function startGuestWith(terms: Partial<LanguageProfile>, ...command: string[]): Guest {
  const guest = new Guest(command, "javascript", { ...languageProfiles.javascript, ...terms });
  guests.push(guest);
  return guest;
}

test("a guest says that it is confined, and ends with its input", async () => {
  const guest = startGuest(...guestCommand);
  expect(await guest.start(false)).toEqual({ ready: true });
  guest.kill("retired");
  await eventually(() => !existsSync(`/proc/${guest.pid}`));
});

test("the error of a guest that ends by itself has its code and the beginning of its output", async () => {
  const script = `printf '\\033[1m' >&2; head -c 9000 /dev/zero | tr '\\0' x >&2; exit 3`;
  const guest = startGuest("/bin/sh", "-c", script);
  let ends = 0;
  guest.onEnd = () => {
    ends += 1;
  };
  await guest.exited;
  expect([guest.ended, ends]).toEqual([{ end: "crash", code: 3, signal: null }, 1]);
  // Control characters count as printed, and are not kept.
  expect(guest.stderr).toBe("x".repeat(8_192 - 4));
  guest.kill("memory");
  guest.retire();
  const limits = { cpuMs: 1, wallMs: 1, replyBytesMax: 1 };
  const asked = guest.request({ kind: "inspect", code: "" }, [], limits, parseInspectReply);
  await expect(asked).rejects.toThrow("Guest ended: crash");
  expect([guest.dying, guest.busy, guest.runnable, ends]).toEqual([true, false, false, 1]);
  const killed = startGuest("/bin/sh", "-c", "exec sleep 60");
  killed.kill("memory");
  const late = killed.request({ kind: "inspect", code: "" }, [], limits, parseInspectReply);
  await expect(late).rejects.toThrow("Guest ended: memory");
});

test("a guest stands still while it is paused, and one that was killed is not paused", async () => {
  const guest = startGuest("/bin/sh", "-c", "exec sleep 60");
  const isStopped = () => {
    const stat = readFileSync(`/proc/${guest.pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  };
  for (let times = 0; times < 2; times += 1) {
    guest.pause();
    guest.pause();
    await eventually(isStopped);
    guest.resume();
    await eventually(() => !isStopped());
    guest.resume();
  }
  guest.kill("retired");
  guest.pause();
  await guest.exited;
  expect(guest.ended).toEqual({ end: "retired", code: null, signal: "SIGKILL" });
});

test("a guest has no share of a processor while it is paused, and its request no time", async () => {
  let now = 1_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  const measured: unknown[] = [];
  const monitor = spyOn(ResourceMonitor.prototype, "measure").mockImplementation((...given) => {
    const [exchange, graceMs, share] = given;
    measured.push([exchange?.startedAt, graceMs, share]);
    return measured.length === 3 ? "memory" : undefined;
  });
  onTestFinished(() => {
    clock.mockRestore();
    monitor.mockRestore();
  });
  const guest = startGuest("/bin/sh", "-c", "exec sleep 60");
  const limits = { cpuMs: 1, wallMs: 1, replyBytesMax: 1 };
  const asked = guest.request({ kind: "inspect", code: "" }, [], limits, parseInspectReply);
  const end = asked.catch((error) => error.end);
  guest.enforceLimits(7, 0.5);
  guest.pause();
  now = 1_300;
  guest.extendDeadline(50);
  guest.enforceLimits(7, 0.5);
  now = 1_400;
  guest.resume();
  now = 1_500;
  guest.extendDeadline(50);
  guest.enforceLimits(7, 0.5);
  expect(measured).toEqual([
    [1_000, 7, 0.5],
    [1_300, 7, 0],
    [1_450, 7, 0.5],
  ]);
  expect(await end).toBe("memory");
  guest.enforceLimits(7, 0.5);
  expect(measured).toHaveLength(3);
  await guest.exited;
  expect(guest.ended?.end).toBe("memory");
});

test("a process that the system does not create leaves no open file", () => {
  const openFiles = () => readdirSync("/proc/self/fd").length;
  const launch = () =>
    launchGuest(["x".repeat(1 << 20)], "javascript", languageProfiles.javascript, () => {});
  const before = openFiles();
  for (let times = 0; times < 3; times += 1) expect(launch).toThrow("E2BIG");
  expect(openFiles()).toBeLessThanOrEqual(before);
});

test("a guest that breaks the protocol is killed", async () => {
  const impostors: Record<string, string> = {
    "too large": `printf '\\377\\377\\377\\377'`,
    "no header": `printf '\\1\\0\\0\\0x'`,
    "not JSON": `printf '\\2\\0\\0\\0x\\n'`,
    "odd answer": `printf '\\14\\0\\0\\0{"kind":"x"}\\n'`,
    "two answers": `printf '\\3\\0\\0\\0{}\\n\\3\\0\\0\\0{}\\n'`,
  };
  for (const [name, script] of Object.entries(impostors)) {
    const guest = startGuest("/bin/sh", "-c", `${script}; exec sleep 60`);
    const started = guest.start(false).then(
      () => "ready",
      (error) => error.end,
    );
    expect([name, await started]).toEqual([name, "violation"]);
    await eventually(() => guest.ended !== undefined);
  }
});

/** Shell code that reads a question and its number, and fills that up to ten places. */
const hear = `read line; number="\${line##*:}"; number="\${number%?}"; filler=
  while [ \${#number}\${#filler} != \${#number}$((10 - \${#number})) ]; do filler="x$filler"; done`;

/** Shell code that answers it, with number and filler, so that the frame's size is known. */
function say(answer: object): string {
  const header = JSON.stringify(answer).replace(/}$/, ',"exchange":%s,"filler":"%s"}');
  const octal = (header.length + "0123456789".length - "%s%s".length + 1).toString(8);
  return `printf '\\${octal}\\0\\0\\0${header}\\n' "$number" "$filler"`;
}

test("a guest that speaks unasked is killed", async () => {
  const ready = say({ kind: "ready" });
  const guest = startGuest(
    "/bin/sh",
    "-c",
    `${hear}; ${ready}; sleep 0.2; ${ready}; exec sleep 60`,
  );
  expect(await guest.start(false)).toEqual({ ready: true });
  await eventually(() => guest.ended !== undefined);
  expect(guest.ended?.end).toBe("violation");
});

test("a guest that answers before it is asked is killed", async () => {
  const guest = startGuest(
    "/bin/sh",
    "-c",
    `number=1; filler=xxxxxxxxx; ${say({ kind: "ready" })}; exec sleep 60`,
  );
  await expect(guest.start(false)).rejects.toThrow("Guest ended");
  await eventually(() => guest.ended !== undefined);
  expect(guest.ended?.end).toBe("violation");
});

/** Takes a core, but not for ever when the test is killed before it ends its guest. */
const spin = "ulimit -t 60; while :; do :; done";
const idleBounds: [
  what: string,
  end: GuestEndCause,
  terms: Partial<LanguageProfile>,
  script: string,
][] = [
  ["computes", "idle", { idleCpuMsMax: 200 }, spin],
  ["floods its standard error", "stderr", {}, "while :; do echo flood flood flood >&2; done"],
  ["makes many threads", "threads", { threadsMax: 1 }, 'exec "$0" -e "setTimeout(() => {}, 1e6)"'],
];

test.each(idleBounds)("an idle guest that %s is killed", async (_, end, terms, script) => {
  const all = `${hear}; ${say({ kind: "ready" })}; sleep 0.1; ${script}`;
  const guest = startGuestWith(terms, "/bin/sh", "-c", all, process.execPath);
  expect(await guest.start(false)).toEqual({ ready: true });
  await eventually(() => {
    guest.enforceLimits(0, 1);
    return guest.ended !== undefined;
  });
  expect(guest.ended?.end).toBe(end);
});

test("the time in which a guest is paused does not count", async () => {
  const guest = startGuest(...guestCommand);
  await guest.start(false);
  guest.pause();
  const allowance = { cpuMs: 1e6, wallMs: 4_000, replyBytesMax: 1_000 };
  const asked = guest.request({ kind: "inspect", code: "" }, [], allowance, parseInspectReply);
  for (const end = performance.now() + 6_000; performance.now() < end; await Bun.sleep(100)) {
    guest.enforceLimits(0, 1);
  }
  guest.resume();
  expect(await asked).toEqual({ imports: [] });
});

test("guests that do not start make the sandbox unavailable, with the reason", async () => {
  const sandbox = sandboxWithSpares({ guestCommand: ["/bin/sh", "-c", "exit 3"] });
  expect(sandbox.status().state).toBe("starting");
  await expect(sandbox.run(program(""), batch({}))).rejects.toThrow("Guests do not start");
  await eventually(() => sandbox.status().state === "unavailable");
  await sandbox.close();
});

test("a guest whose process cannot be created is retried, and later starts", async () => {
  // Longer than the system takes, so that it makes no process.
  const command = ["x".repeat(1 << 20)];
  const sandbox = sandboxWithSpares({ guestCommand: command });
  const identity = program("export const transformEvent = (event) => event");
  const run = async () => shown(await sandbox.run(identity, batch({ n: 1 })));
  const patience = Bun.sleep(PATIENCE_MS / 2).then(() => "still tries");
  const first = run().catch((error) => error.message);
  expect(await Promise.race([first, patience])).toStartWith(
    "Guests do not start: the system makes no process: E2BIG",
  );
  expect(sandbox.status().state).toBe("unavailable");
  command.splice(0, 1, ...guestCommand);
  let outcome: unknown;
  while (outcome === undefined) {
    await Bun.sleep(20);
    outcome = await run().catch(() => undefined);
  }
  expect(outcome).toEqual([[{ n: 1 }]]);
  expect(sandbox.status().state).toBe("ready");
  await sandbox.close();
});

test("a guest that cannot be confined does not run code by default", async () => {
  const reason = "this kernel has no Landlock";
  const command = [
    "/bin/sh",
    "-c",
    `${hear}; ${say({ kind: "unconfined", reason })}; exec sleep 60`,
  ];
  const sandbox = sandboxWithSpares({ guestCommand: command });
  await expect(sandbox.run(program(""), batch({}))).rejects.toThrow(
    `User code cannot run: ${reason}`,
  );
  await eventually(() => sandbox.status().state === "unavailable");
  expect(sandbox.status().reason).toContain(reason);
  await sandbox.close();
});

test("two workspaces never share a guest", async () => {
  const sandbox = sandboxWithSpares();
  const marking = (workspaceId: string) =>
    program("globalThis.n = (globalThis.n ?? 0) + 1; export const transformEvent = () => ({ n })", {
      workspaceId,
    });
  await Promise.all(["w1", "w2", "w3"].map((id) => sandbox.run(marking(id), batch({}))));
  await sandbox.close();
});

test("guests leave the server the larger share of a processor, as processes and as sessions", async () => {
  const sandbox = sandboxWithSpares();
  const identity = program("export const transformEvent = (event) => event");
  const before = new Set(childProcesses());
  await sandbox.run(identity, batch({ n: 1 }));
  const guests = childProcesses().filter((pid) => !before.has(pid));
  expect(guests.length).toBeGreaterThan(0);
  for (const pid of guests) {
    expect(getPriority(pid)).toBe(getPriority() + 5);
    // The kernel may be built without, and lets an ordinary user change ten a second.
    const group = `/proc/${pid}/autogroup`;
    if (process.getuid!() !== 0 || !existsSync(group)) continue;
    expect(readFileSync(group, "latin1")).toMatch(/ nice 5$/m);
  }
  await sandbox.close();
});

test("a new guest takes over when one dies idle", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
  const sandbox = sandboxWithSpares({ log });
  const identity = program("export const transformEvent = (event) => event");
  expect(shown(await sandbox.run(identity, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  for (const pid of childProcesses()) process.kill(pid, "SIGKILL");
  await eventually(() => lines.some((line) => line.includes('"end":"crash"')));
  expect(shown(await sandbox.run(identity, batch({ n: 2 })))).toEqual([[{ n: 2 }]]);
  await sandbox.close();
});

test("guests that die just before they are asked cost nothing", async () => {
  const sandbox = sandboxWithSpares();
  const identity = program("export const transformEvent = (event) => event");
  const text = "x".repeat(2_000);
  for (let n = 0; n < runs(6, 24); n += 1) {
    // Nothing has told the host yet; a small batch fits in the dead pipe, a large one does not.
    for (const pid of childProcesses()) process.kill(pid, "SIGKILL");
    if (n % 2 === 1) Bun.sleepSync(20);
    const events = Array.from({ length: n % 3 === 0 ? 1 : 300 }, (_, i) => ({ n, i, text }));
    const outcomes = await sandbox.run(identity, batch(...events));
    expect(shown(outcomes)).toEqual(events.map((event) => [event]));
  }
  await sandbox.close();
});

test("programs that are loaded side by side keep their numbers apart", async () => {
  const sandbox = sandboxWithSpares();
  const runs = Array.from({ length: 40 }, async (_, n) => {
    const one = program(`export const transformEvent = () => ({ n: ${n} })`, {
      workspaceId: `w${n % 5}`,
    });
    return shown(await sandbox.run(one, batch({})))[0];
  });
  expect(await Promise.all(runs)).toEqual(Array.from({ length: 40 }, (_, n) => [{ n }]));
  await sandbox.close();
});

/** Lines of `/proc/PID/task/TID/status` of every thread. */
function statuses(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8"),
  );
}

test.if(process.getuid?.() === 0)("guests of a root server are users without rights", async () => {
  const users = new Set<string>();
  for (const language of ["javascript", "javascript", "python"] as const) {
    const guest = new Guest(guestCommand, language, languageProfiles[language]);
    guests.push(guest);
    expect(await guest.start(false)).toEqual({ ready: true });
    const threads = statuses(guest.pid);
    expect(threads.length).toBeGreaterThan(1);
    for (const status of threads) {
      const user = /^Uid:\t(\d+)\t\1\t\1\t\1$/m.exec(status)?.[1];
      expect(Number(user)).toBeGreaterThan(0);
      users.add(user!);
      expect(status).toMatch(new RegExp(`^Gid:\\t${user}\\t${user}\\t${user}\\t${user}$`, "m"));
      expect(status).toMatch(/^Groups:\s*$/m);
      for (const set of ["Prm", "Eff", "Inh", "Amb"]) {
        expect(status).toMatch(new RegExp(`^Cap${set}:\\t0+$`, "m"));
      }
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    }
    guest.kill("retired");
  }
  expect(users.size).toBe(3);
});

test("guests of a server without root's rights are confined, too", async () => {
  const unprivileged = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
  const root = process.getuid?.() === 0 && Bun.which("setpriv") !== null;
  const guest = startGuest(...(root ? unprivileged : []), ...guestCommand);
  expect(await guest.start(false)).toEqual({ ready: true });
  for (const status of statuses(guest.pid)) expect(status).toMatch(/^CapEff:\t0+$/m);
  guest.kill("retired");
});
