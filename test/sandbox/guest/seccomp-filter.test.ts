import { expect, test } from "bun:test";
import { seccompFilter } from "../../../src/sandbox/guest/confinement/seccomp-filter.ts";
import {
  type SyscallTable,
  syscallTable,
} from "../../../src/sandbox/guest/confinement/syscall-table.ts";

/**
 * The filter of both architectures, run by a small interpreter of the instructions it uses: only
 * one of the two can be tried on the machine at hand.
 */
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const PID = 4_242;
const THREAD_FLAGS = { glibc: 0x3d0f00, musl: 0x7d0f00 };

function decide(filter: Uint8Array, arch: number, syscall: number, args: number[] = []): number {
  const view = new DataView(filter.buffer);
  const data: Record<number, number> = { 0: syscall, 4: arch };
  for (let index = 0; index < 6; index += 1) {
    const word = BigInt.asUintN(64, BigInt(args[index] ?? 0));
    data[16 + 8 * index] = Number(word & 0xffff_ffffn);
    data[20 + 8 * index] = Number(word >> 32n);
  }
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = view.getUint16(at * 8, true);
    const [whenTrue, whenFalse] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3)];
    const operand = view.getUint32(at * 8 + 4, true);
    const isJump = code === 0x15 || code === 0x35;
    if (!isJump && whenTrue + whenFalse > 0) throw new Error(`A jump in instruction ${code}`);
    if (code === 0x20) accumulator = data[operand]!;
    else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x15) at += accumulator === operand ? whenTrue : whenFalse;
    else if (code === 0x35) at += accumulator >= operand ? whenTrue : whenFalse;
    else if (code === 0x06) return operand;
    else throw new Error(`Unknown instruction ${code}`);
  }
  throw new Error("The filter ends without a decision");
}

/** Arguments that a guest needs, and what it must not do with the same call. */
const callArguments: Record<string, { allowed: number[][]; refused: number[][] }> = {
  clone: {
    allowed: Object.values(THREAD_FLAGS).map((flags) => [flags]),
    // A process, a namespace, both.
    refused: [[0], [17], [0x10000000], [THREAD_FLAGS.glibc | 0x10000000]],
  },
  tgkill: {
    allowed: [[PID, PID, 10]],
    refused: [
      [1, 1, 0],
      [PID + 1, PID],
    ],
  },
  prctl: {
    allowed: [[15], [0x53564d41]],
    // DEATHSIG, DUMPABLE, SECCOMP, CAPBSET_DROP, AMBIENT
    refused: [[1], [4], [22], [24], [47]],
  },
  mmap: {
    allowed: [
      [0, 4_096, 3, 0x22],
      [0, 4_096, 0, 0x4022],
      [0x7f00_0000_0000, 4_096, 3, 0x32],
      [0x1_0000, 4_096, 3, 0x10_0022],
      // The kernel moves a hint, if it has to.
      [4_096, 4_096, 3, 0x22],
      // The address of a 64-bit word whose low half is small.
      [0x1_0000_1000, 4_096, 3, 0x32],
    ],
    refused: [
      [0, 4_096, 5, 0x22],
      [0, 4_096, 7, 0x22],
      [0, 4_096, 3, 0x32],
      [4_096, 4_096, 3, 0x32],
      [0xf000, 4_096, 3, 0x10_0022],
      // Shared, growing downwards, of huge pages, locked.
      [0, 4_096, 3, 0x21],
      [0, 4_096, 3, 0x122],
      [0, 4_096, 3, 0x4_0022],
      [0, 4_096, 3, 0x2022],
    ],
  },
  mprotect: {
    allowed: [0, 1, 2, 3].map((protection) => [0x7f00_0000_0000, 4_096, protection]),
    refused: [4, 5, 7, 0x0100_0003].map((protection) => [0x7f00_0000_0000, 4_096, protection]),
  },
  mremap: {
    allowed: [[0, 1, 2, 1]],
    refused: [
      [0, 1, 2, 3, 0],
      [0, 1, 2, 4],
    ],
  },
  madvise: {
    allowed: [0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 102, 103].map((advice) => [0, 4_096, advice]),
    // REMOVE, DOFORK, MERGEABLE, PAGEOUT, HWPOISON, SOFT_OFFLINE
    refused: [9, 11, 12, 21, 100, 101].map((advice) => [0, 4_096, advice]),
  },
  futex: {
    allowed: [0, 1, 128, 129, 0x189, 133, 138].map((operation) => [0, operation]),
    // LOCK_PI, UNLOCK_PI, TRYLOCK_PI, WAIT_REQUEUE_PI, CMP_REQUEUE_PI, LOCK_PI2
    refused: [6, 7, 8, 11, 12, 13, 134, 0x18b, 140].map((operation) => [0, operation]),
  },
  membarrier: { allowed: [[0], [8], [16]], refused: [[1], [2], [4], [128]] },
  sched_getaffinity: {
    allowed: [[0, 8]],
    refused: [
      [1, 8],
      [PID, 8],
    ],
  },
  clock_gettime: { allowed: [[0], [1], [3], [7]], refused: [[~1 << 3], [(~PID << 3) | 2]] },
  clock_getres: { allowed: [[1]], refused: [[(~PID << 3) | 2]] },
  clock_nanosleep: { allowed: [[1]], refused: [[(~PID << 3) | 2]] },
};

/** Values of one argument that are allowed, by call; the other arguments do not matter. */
const allowedValues: Record<string, { argument: number; values: number[] }> = {
  prctl: { argument: 0, values: [15] },
  mprotect: { argument: 2, values: [0, 1, 2, 3] },
  mremap: { argument: 3, values: [0, 1] },
  madvise: { argument: 2, values: [0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 102, 103] },
  futex: {
    argument: 1,
    values: [0, 128, 256, 384].flatMap((flags) => [0, 1, 3, 4, 5, 9, 10].map((it) => flags | it)),
  },
  membarrier: { argument: 0, values: [0, 8, 16, 32, 64] },
  sched_getaffinity: { argument: 0, values: [0] },
};

/** Flags that may be added to `given`, by call, as numbers of bits. */
const allowedBits: Record<string, { argument: number; given: number[]; bits: number[] }> = {
  // VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID, CHILD_CLEARTID, DETACHED
  clone: { argument: 0, given: [1 << 16], bits: [8, 9, 10, 11, 16, 18, 19, 20, 21, 22] },
  mprotect: { argument: 2, given: [0, 0, 0], bits: [0, 1] },
  // PRIVATE, FIXED, ANONYMOUS, NORESERVE, STACK, FIXED_NOREPLACE
  mmap: { argument: 3, given: [0x1_0000, 0, 0, 0], bits: [1, 4, 5, 14, 17, 20] },
  ...Object.fromEntries(
    ["clock_getres", "clock_gettime", "clock_nanosleep"].map((name) => {
      return [name, { argument: 0, given: [0], bits: Array.from({ length: 31 }, (_, bit) => bit) }];
    }),
  ),
};

for (const arch of ["x64", "arm64"]) {
  const table = syscallTable(arch) as SyscallTable;
  const filter = seccompFilter(table, PID);
  const on = (syscall: number, ...args: number[]) => decide(filter, table.auditArch, syscall, args);

  test(`${arch}: everything that is listed is allowed, and nothing else`, () => {
    const listed = new Set(Object.values(table.allowed));
    const ruled = new Set(Object.keys(callArguments).map((name) => table.allowed[name]));
    for (let syscall = 0; syscall < 512; syscall += 1) {
      if (ruled.has(syscall) || syscall === table.clone3) continue;
      expect([syscall, on(syscall)]).toEqual([syscall, listed.has(syscall) ? ALLOW : EPERM]);
    }
    expect(on(table.clone3)).toBe(ENOSYS);
    for (const forbidden of ["execve", "kill", "openat", "ptrace", "seccomp", "socket"] as const) {
      expect(on(table[forbidden])).toBe(EPERM);
    }
  });

  test(`${arch}: calls that could do more are allowed with the arguments of a guest alone`, () => {
    for (const [name, { allowed, refused }] of Object.entries(callArguments)) {
      const refusal = name === "sched_getaffinity" ? ENOSYS : EPERM;
      const decisions = (list: number[][]) =>
        list.map((args) => [name, args, on(table.allowed[name]!, ...args)]);
      expect(decisions(allowed)).toEqual(allowed.map((args) => [name, args, ALLOW]));
      expect(decisions(refused)).toEqual(refused.map((args) => [name, args, refusal]));
    }
  });

  test(`${arch}: an argument of a restricted call has the allowed values alone`, () => {
    const found = Object.entries(allowedValues).map(([name, { argument }]) => {
      const values = Array.from({ length: 512 }, (_, value) => value).filter((value) => {
        const args = Array.from({ length: 6 }, (_, index) => (index === argument ? value : 0));
        return on(table.allowed[name]!, ...args) === ALLOW;
      });
      return [name, { argument, values }];
    });
    const expected = structuredClone(allowedValues);
    for (const { values } of Object.values(expected)) values.sort((a, b) => a - b);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  test(`${arch}: the flags of a restricted call are the allowed ones alone`, () => {
    const found = Object.entries(allowedBits).map(([name, { argument, given }]) => {
      const bits = Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => {
        const args = given.with(argument, (given[argument]! | (1 << bit)) >>> 0);
        return on(table.allowed[name]!, ...args) === ALLOW;
      });
      return [name, { argument, given, bits }];
    });
    expect(Object.fromEntries(found)).toEqual(allowedBits);
  });

  test(`${arch}: memory is placed from the lowest allowed address on`, () => {
    for (const fixed of [0x32, 0x10_0022]) {
      const place = (address: number) => on(table.allowed.mmap!, address, 4_096, 3, fixed);
      expect([0xffff, 0x1_0000].map(place)).toEqual([EPERM, ALLOW]);
    }
  });

  test(`${arch}: another architecture's calls end the process`, () => {
    expect(decide(filter, 0x40000003, table.allowed.read!)).toBe(KILL);
  });
}

test("there is no filter for other architectures", () => {
  expect(syscallTable("ppc64")).toBeUndefined();
});
