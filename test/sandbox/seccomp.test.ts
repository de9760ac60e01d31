import { expect, test } from "bun:test";
import { seccompFilter } from "../../src/sandbox/guest/seccomp.ts";
import { type SyscallTable, syscallTable } from "../../src/sandbox/guest/syscalls.ts";

/**
 * The filter of both architectures, run by a small interpreter of the five instructions it uses:
 * only one of the two can be tried on the machine at hand.
 */
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const PID = 4_242;
const THREAD_FLAGS = { glibc: 0x3d0f00, musl: 0x7d0f00 };

function decide(filter: Uint8Array, arch: number, syscall: number, argument = 0): number {
  const view = new DataView(filter.buffer);
  const data: Record<number, number> = { 0: syscall, 4: arch, 16: argument };
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = view.getUint16(at * 8, true);
    const [whenTrue, whenFalse] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3)];
    const operand = view.getUint32(at * 8 + 4, true);
    if (code === 0x20) accumulator = data[operand]!;
    else if (code === 0x15) at += accumulator === operand ? whenTrue : whenFalse;
    else if (code === 0x45) at += (accumulator & operand) !== 0 ? whenTrue : whenFalse;
    else if (code === 0x06) return operand;
    else throw new Error(`Unknown instruction ${code}`);
  }
  throw new Error("The filter ends without a decision");
}

for (const arch of ["x64", "arm64"]) {
  const table = syscallTable(arch) as SyscallTable;
  const filter = seccompFilter(table, PID);
  const on = (syscall: number, argument?: number) =>
    decide(filter, table.auditArch, syscall, argument);

  test(`${arch}: everything that is listed is allowed, and nothing else`, () => {
    const allowed = new Set(Object.values(table.allowed));
    const special = new Set([table.clone, table.clone3, table.tgkill, table.prctl]);
    for (let syscall = 0; syscall < 512; syscall += 1) {
      if (special.has(syscall)) continue;
      expect([syscall, on(syscall)]).toEqual([syscall, allowed.has(syscall) ? ALLOW : EPERM]);
    }
    expect(on(table.clone3)).toBe(ENOSYS);
    for (const forbidden of ["execve", "kill", "openat", "ptrace", "seccomp", "socket"] as const) {
      expect(on(table[forbidden])).toBe(EPERM);
    }
  });

  test(`${arch}: another architecture's calls end the process`, () => {
    expect(decide(filter, 0x40000003, table.allowed.read!)).toBe(KILL);
  });

  test(`${arch}: threads start, processes and namespaces do not`, () => {
    for (const flags of Object.values(THREAD_FLAGS)) expect(on(table.clone, flags)).toBe(ALLOW);
    const SIGCHLD = 17;
    const CLONE_NEWUSER = 0x10000000;
    for (const flags of [0, SIGCHLD, CLONE_NEWUSER, THREAD_FLAGS.glibc | CLONE_NEWUSER]) {
      expect(on(table.clone, flags)).toBe(EPERM);
    }
  });

  test(`${arch}: signals go to its own threads alone, prctl names things alone`, () => {
    expect(on(table.tgkill, PID)).toBe(ALLOW);
    expect(on(table.tgkill, 1)).toBe(EPERM);
    const [PR_SET_NAME, PR_SET_VMA, PR_SET_DUMPABLE] = [15, 0x53564d41, 4];
    expect(on(table.prctl, PR_SET_NAME)).toBe(ALLOW);
    expect(on(table.prctl, PR_SET_VMA)).toBe(ALLOW);
    expect(on(table.prctl, PR_SET_DUMPABLE)).toBe(EPERM);
  });
}

test("there is no filter for other architectures", () => {
  expect(syscallTable("ppc64")).toBeUndefined();
});
