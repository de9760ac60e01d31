/** Architectures (values of `process.arch`) in the order of the columns of the tables below. */
const architectures = ["x64", "arm64"];

type Row = readonly [x64: number, arm64: number | undefined];

/**
 * Numbers of the allowed system calls, by name and architecture, from the kernel's
 * `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h` (arm64);
 * undefined if the architecture has no such call. Rules in `syscall-rules.ts` restrict the
 * arguments of some calls.
 */
const allowed: Readonly<Record<string, Row>> = {
  brk: [12, 214],
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  clone: [56, 220],
  close: [3, 57],
  epoll_ctl: [233, 21],
  epoll_pwait: [281, 22],
  epoll_pwait2: [441, 441],
  epoll_wait: [232, undefined],
  exit: [60, 93],
  exit_group: [231, 94],
  futex: [202, 98],
  getpid: [39, 172],
  getppid: [110, 173],
  getrandom: [318, 278],
  getrusage: [98, 165],
  gettid: [186, 178],
  gettimeofday: [96, 169],
  lseek: [8, 62],
  madvise: [28, 233],
  membarrier: [324, 283],
  mmap: [9, 222],
  mprotect: [10, 226],
  mremap: [25, 216],
  munmap: [11, 215],
  nanosleep: [35, 101],
  poll: [7, undefined],
  ppoll: [271, 73],
  prctl: [157, 167],
  read: [0, 63],
  readv: [19, 65],
  restart_syscall: [219, 128],
  rseq: [334, 293],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sched_getaffinity: [204, 123],
  sched_yield: [24, 124],
  set_robust_list: [273, 99],
  set_tid_address: [218, 96],
  sigaltstack: [131, 132],
  tgkill: [234, 131],
  timerfd_settime: [286, 86],
  write: [1, 64],
  writev: [20, 66],
};

/**
 * Numbers of the system calls that only set up the confinement and verify it, and `auditArch`, by
 * which the kernel identifies the architecture in the data that it passes to a filter (AUDIT_ARCH_*
 * of `linux/audit.h`).
 */
const others = {
  auditArch: [0xc000003e, 0xc00000b7],
  capget: [125, 90],
  capset: [126, 91],
  clone3: [435, 435],
  execve: [59, 221],
  kill: [62, 129],
  landlockCreateRuleset: [444, 444],
  landlockRestrictSelf: [446, 446],
  openat: [257, 56],
  prlimit: [302, 261],
  ptrace: [101, 117],
  seccomp: [317, 277],
  setresuid: [117, 147],
  socket: [41, 198],
} satisfies Record<string, readonly [number, number]>;

/** Numbers of the system calls on one architecture, and the number of this architecture. */
export type SyscallTable = Readonly<Record<keyof typeof others, number>> & {
  /** Numbers of the allowed system calls, by name. */
  allowed: Readonly<Record<string, number>>;
};

/**
 * Returns the table for an architecture (value of `process.arch`); undefined when this file has no
 * table for it.
 */
export function syscallTable(arch: string): SyscallTable | undefined {
  const column = architectures.indexOf(arch);
  if (column < 0) return undefined;
  const numbers = <Name extends string>(rows: Readonly<Record<Name, Row>>) => {
    const cells = Object.entries<Row>(rows).map(([name, row]) => [name, row[column]]);
    const known = cells.filter(([, number]) => number !== undefined);
    return Object.fromEntries(known) as Record<Name, number>;
  };
  return { allowed: numbers(allowed), ...numbers(others) };
}
