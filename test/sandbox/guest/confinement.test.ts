import { expect, test } from "bun:test";
import {
  confine,
  filterSystemCalls,
  restrictFiles,
  setProcess,
} from "../../../src/sandbox/guest/confinement/confine.ts";
import {
  ConfinementError,
  type Kernel,
  openKernel,
  type SyscallArgument,
} from "../../../src/sandbox/guest/confinement/kernel.ts";
import { seccompFilter } from "../../../src/sandbox/guest/confinement/seccomp-filter.ts";
import { syscallTable } from "../../../src/sandbox/guest/confinement/syscall-table.ts";
import { verify } from "../../../src/sandbox/guest/confinement/verify-confinement.ts";
import { testWith } from "../../counterpart.ts";

const table = syscallTable("x64")!;
const numberOf = (name: string) =>
  table.allowed[name] ?? (table as unknown as Record<string, number>)[name]!;

interface Call {
  number: number;
  args: SyscallArgument[];
}

/** A kernel on which `answer` decides how each call ends: -1 is refused. */
function kernelWith(answer: (call: Call, index: number) => number) {
  const calls: Call[] = [];
  const kernel: Kernel = {
    address: () => 0xabcn,
    dropGroups: () => true,
    setUser: () => true,
    syscall(number, ...args) {
      const value = answer({ number, args }, calls.length);
      calls.push({ number, args });
      return { value, errno: value === -1 ? 1 : 0 };
    },
  };
  return { kernel, calls };
}

/** Forbidden actions of a guest with their system calls, in the order in which they are tried. */
const forbidden: [what: string, call: string][] = [
  ["open a file", "openat"],
  ["open a socket", "socket"],
  ["open a datagram socket", "socket"],
  ["open a local socket", "socket"],
  ["start a program", "execve"],
  ["change its user", "setresuid"],
  ["trace a process", "ptrace"],
  ["signal its parent", "kill"],
  ["signal a process", "tgkill"],
  ["become dumpable", "prctl"],
  ["map the null page", "mmap"],
  ["map executable memory", "mmap"],
  ["execute its memory", "mprotect"],
  ["share its memory", "madvise"],
  ["inherit priorities", "futex"],
  ["look for processes", "sched_getaffinity"],
  ["read another's clock", "clock_gettime"],
  ["start a process", "clone"],
];
/** Index of the call that maps the page on which the next ones are tried. */
const PAGE_CALL = 10;
/** The last call but one, which unmaps the page. */
const UNMAP_CALL = 18;
const callsOf = (what: string) => {
  const index = forbidden.findIndex(([it]) => it === what);
  return index < PAGE_CALL ? index : index + 1 + Number(what === "start a process");
};

/** The sentence with which a confinement that permits one call is refused. */
async function reasonWhen(permitted: number, answer: (call: Call) => number) {
  const { kernel, calls } = kernelWith((call, index) => (index === permitted ? answer(call) : -1));
  const error = await verify(kernel, table).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(ConfinementError);
  return { reason: (error as Error).message, calls };
}

test("a confinement that permits any forbidden call is refused, by the name of what it permits", async () => {
  for (const [what, name] of forbidden) {
    const at = callsOf(what);
    const { reason, calls } = await reasonWhen(at, () => 7);
    expect(reason).toBe(`a guest can ${what}`);
    expect([what, calls[at]!.number]).toEqual([what, numberOf(name)]);
  }
  // This process is not confined, so that it reads a file when all calls are refused.
  const { reason, calls } = await reasonWhen(-1, () => 0);
  expect(reason).toBe("a guest can open a file");
  expect(calls.map(({ number }) => number)).toHaveLength(forbidden.length + 2);
  // Signal 0 only asks for the right to send one.
  const signals = ["signal its parent", "signal a process"].map((it) => calls[callsOf(it)]!.args);
  expect(signals).toEqual([
    [process.ppid, 0],
    [process.ppid, process.ppid, 0],
  ]);
  const [page, unmap] = [calls[PAGE_CALL]!, calls[UNMAP_CALL]!];
  expect([page.number, unmap.number]).toEqual([numberOf("mmap"), numberOf("munmap")]);
});

/** Paths in memory that ends with 0. */
const pathOf = (text: string) => Buffer.from(`${text}\0`);

test("each forbidden action is tried with the values that the kernel gives to it", async () => {
  const { calls } = await reasonWhen(-1, () => 0);
  const page = -1;
  const answer = new BigUint64Array(128);
  const { ppid } = process;
  const expected: Record<string, unknown[]> = {
    // AT_FDCWD
    "open a file": [-100, pathOf("/proc/self/status")],
    // AF_INET and AF_UNIX, SOCK_STREAM and SOCK_DGRAM
    "open a socket": [2, 1],
    "open a datagram socket": [2, 2],
    "open a local socket": [1, 1],
    "start a program": [pathOf("/proc/self/exe"), new BigUint64Array(1), new BigUint64Array(1)],
    "change its user": [-1, -1, -1],
    // PTRACE_TRACEME
    "trace a process": [0],
    // PR_SET_DUMPABLE
    "become dumpable": [4, 1],
    // PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED
    "map the null page": [0, 65_536, 3, 0x32, -1, 0],
    // PROT_READ | PROT_EXEC
    "map executable memory": [0, 65_536, 5, 0x22, -1, 0],
    "execute its memory": [page, 65_536, 5],
    // MADV_MERGEABLE
    "share its memory": [page, 65_536, 12],
    // FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG
    "inherit priorities": [answer, 0x86],
    "look for processes": [ppid, 1_024, answer],
    // The clock of a process's CPU time.
    "read another's clock": [(~ppid << 3) | 2, answer],
    // SIGCHLD
    "start a process": [17],
  };
  for (const [what, args] of Object.entries(expected)) {
    expect([what, calls[callsOf(what)]!.args]).toEqual([what, args as SyscallArgument[]]);
  }
  expect(calls[PAGE_CALL]!.args).toEqual([0, 65_536, 3, 0x22, -1, 0]);
  expect(calls[UNMAP_CALL]!.args).toEqual([page, 65_536]);
});

test.each([
  ["platform", "darwin", `no confinement is written for darwin on ${process.arch}`],
  ["arch", "ppc64", `no confinement is written for ${process.platform} on ppc64`],
] as const)(
  "a machine of another %s, %s, is told to be without confinement",
  async (name, other, reason) => {
    const own = process[name];
    Object.defineProperty(process, name, { value: other, configurable: true });
    try {
      expect(await confine()).toBe(reason);
    } finally {
      Object.defineProperty(process, name, { value: own, configurable: true });
    }
  },
);

test("a step that the system does not allow is a missing part; any other error ends the confinement", async () => {
  const failing = (error: Error) => () => {
    throw error;
  };
  const taken: string[] = [];
  const steps = [
    failing(new ConfinementError("no Landlock")),
    () => void taken.push("a step"),
    failing(new ConfinementError("no seccomp")),
  ];
  expect(await confine(steps)).toBe("no Landlock; no seccomp");
  expect(taken).toEqual(["a step"]);
  expect(await confine([steps[1]!])).toBeUndefined();
  const defect = new TypeError("a defect");
  await expect(confine([failing(defect), steps[1]!])).rejects.toBe(defect);
  expect(taken).toEqual(["a step", "a step"]);
});

test("a child that was started in spite of the confinement ends at once", async () => {
  const { reason, calls } = await reasonWhen(callsOf("start a process"), () => 0);
  expect(reason).toBe("a guest can start a process");
  const exit = calls.at(-1)!;
  expect([exit.number, exit.args]).toEqual([numberOf("exit_group"), [0]]);
});

const isLinuxOnX64 = process.platform === "linux" && process.arch === "x64";

testWith(isLinuxOnX64 ? undefined : "needs Linux on x64")(
  "each forbidden call is one that succeeds in a process without confinement",
  async () => {
    const real = openKernel();
    // Left out: what would end or change this process, and what needs a right or a kernel's option.
    const harmful = [
      ...["start a program", "trace a process", "start a process"],
      ...["signal its parent", "signal a process"],
    ];
    const optional = ["map the null page", "share its memory"];
    const tried = forbidden.filter(([what]) => ![...harmful, ...optional].includes(what));
    for (const [what] of tried) {
      const { kernel } = kernelWith(({ number, args }, index) => {
        const isPage = index === PAGE_CALL || index === UNMAP_CALL;
        return index === callsOf(what) || isPage ? real.syscall(number, ...args).value : -1;
      });
      await expect(verify(kernel, table)).rejects.toThrow(`a guest can ${what}`);
    }
  },
);

const refusedBy = (name: string) =>
  kernelWith(({ number }) => (number === numberOf(name) ? -1 : 0)).kernel;

test("a process gets no new rights, leaves no core dump, and ends with the server", () => {
  const { kernel, calls } = kernelWith(() => 0);
  setProcess(kernel, table);
  // PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE and PR_SET_PDEATHSIG of linux/prctl.h, SIGKILL.
  expect(calls.map(({ args }) => args)).toEqual([
    [38, 1],
    [4, 0],
    [1, 9],
  ]);
  expect(() => setProcess(refusedBy("prctl"), table)).toThrow("prctl 38 failed with error 1");
});

/** A kernel whose Landlock has this version, and what a ruleset then handles. */
function landlock(version: number) {
  const { kernel, calls } = kernelWith(({ number, args }) => {
    if (number !== table.landlockCreateRuleset) return 0;
    return args[0] === 0 ? version : 77;
  });
  restrictFiles(kernel, table);
  const [asked, created, restricted, closed] = calls;
  expect(asked!.args).toEqual([0, 0, 1]);
  expect(restricted).toEqual({ number: table.landlockRestrictSelf, args: [77, 0] });
  expect(closed).toEqual({ number: numberOf("close"), args: [77] });
  const [attributes, bytes, flags] = created!.args as [BigUint64Array, number, number];
  expect([bytes, flags]).toEqual([attributes.byteLength, 0]);
  return [...attributes];
}

test("Landlock handles all rights that its version knows, and no others", () => {
  // linux/landlock.h: the highest right of files, then TCP, then abstract sockets and signals.
  const [makeSymlink, refer, truncate, ioctl] = [1n << 12n, 1n << 13n, 1n << 14n, 1n << 15n];
  const below = (highest: bigint) => 2n * highest - 1n;
  expect([1, 2, 3, 4, 5, 6, 7].map(landlock)).toEqual([
    [below(makeSymlink)],
    [below(refer)],
    [below(truncate)],
    [below(truncate), 3n],
    [below(ioctl), 3n],
    [below(ioctl), 3n, 3n],
    [below(ioctl), 3n, 3n],
  ]);
});

test("a kernel without Landlock, or one that refuses it, is named", () => {
  for (const version of [-1, 0]) {
    const { kernel } = kernelWith(() => version);
    expect(() => restrictFiles(kernel, table)).toThrow("this kernel has no Landlock");
  }
  const { kernel: full } = kernelWith((_, index) => (index === 0 ? 4 : -1));
  expect(() => restrictFiles(full, table)).toThrow("Landlock failed with error 1");
  expect(() =>
    restrictFiles(kernelWith((_, index) => [4, 77, -1, 0][index]!).kernel, table),
  ).toThrow("Landlock failed with error 1");
});

test("the filter of system calls binds all threads, with all its instructions", () => {
  const { kernel, calls } = kernelWith(() => 0);
  filterSystemCalls(kernel, table);
  const [{ number, args }] = calls as [Call];
  const [mode, flags, program] = args as [number, number, BigUint64Array];
  // SECCOMP_SET_MODE_FILTER and SECCOMP_FILTER_FLAG_TSYNC of linux/seccomp.h.
  expect([number, mode, flags]).toEqual([table.seccomp, 1, 1]);
  const filter = seccompFilter(table, process.pid);
  expect([...program]).toEqual([BigInt(filter.length / 8), 0xabcn]);
  // The number of a thread that cannot be bound is no success.
  for (const value of [-1, 1_234]) {
    expect(() => filterSystemCalls(kernelWith(() => value).kernel, table)).toThrow("seccomp");
  }
});
