import { expect, test } from "bun:test";
import { killSpinning } from "./spinning.ts";

/** Runs a program until it ends or is killed; resolves with what `killSpinning` says. */
async function run(program: string) {
  const child = Bun.spawn([process.execPath, "-e", program], {
    stdout: "pipe",
    stderr: "inherit",
    detached: true,
  });
  let lines = 0;
  const read = (async () => {
    for await (const part of child.stdout) lines += Buffer.from(part).toString().split("\n").length;
  })();
  const used = await killSpinning(child, () => lines, { cpuSecondsMax: 0.5, lookMs: 20 });
  await read;
  const code = await child.exited;
  return { used, signal: child.signalCode, code };
}

/** Seconds of CPU time, not of the clock. */
const compute = `const compute = (s) => {
  const began = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(began);
    if (user + system > s * 1e6) return;
  }
};`;

test("a process that computes without a line is killed by its CPU time", async () => {
  const { used, signal } = await run("for (;;);");
  expect(used).toBeGreaterThanOrEqual(0.5);
  expect(signal).toBe("SIGKILL");
});

test("a process that waits is left alone, however long it is", async () => {
  expect(await run("setTimeout(() => {}, 1_000)")).toEqual({
    used: undefined,
    signal: null,
    code: 0,
  });
});

test("a process that prints between its computations is left alone", async () => {
  const program = `${compute} for (let i = 0; i < 5; i += 1) { compute(0.15); console.log(i); await Bun.sleep(50); }`;
  expect(await run(program)).toEqual({ used: undefined, signal: null, code: 0 });
});
