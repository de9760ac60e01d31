/**
 * Numbers of system calls on one processor architecture, from the kernel's
 * `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h` (arm64).
 */
export interface SyscallTable {
  /**
   * Number by which the kernel identifies the architecture in the data that it passes to a filter
   * (AUDIT_ARCH_* of `linux/audit.h`).
   */
  auditArch: number;
  /**
   * Numbers of the allowed system calls, by name. If `syscall-rules.ts` has a rule for a call, the
   * call is allowed only with the arguments that the rule permits. The other calls are allowed with
   * all arguments.
   */
  allowed: Readonly<Record<string, number>>;
  // The following calls only set up the confinement and verify it.
  capget: number;
  capset: number;
  clone3: number;
  execve: number;
  kill: number;
  landlockCreateRuleset: number;
  landlockRestrictSelf: number;
  openat: number;
  prlimit: number;
  ptrace: number;
  seccomp: number;
  setresuid: number;
  socket: number;
}

const x64: SyscallTable = {
  auditArch: 0xc000003e,
  allowed: {
    brk: 12,
    clock_getres: 229,
    clock_gettime: 228,
    clock_nanosleep: 230,
    clone: 56,
    close: 3,
    epoll_ctl: 233,
    epoll_pwait: 281,
    epoll_pwait2: 441,
    epoll_wait: 232,
    exit: 60,
    exit_group: 231,
    futex: 202,
    getpid: 39,
    getppid: 110,
    getrandom: 318,
    getrusage: 98,
    gettid: 186,
    gettimeofday: 96,
    lseek: 8,
    madvise: 28,
    membarrier: 324,
    mmap: 9,
    mprotect: 10,
    mremap: 25,
    munmap: 11,
    nanosleep: 35,
    poll: 7,
    ppoll: 271,
    prctl: 157,
    read: 0,
    readv: 19,
    restart_syscall: 219,
    rseq: 334,
    rt_sigaction: 13,
    rt_sigprocmask: 14,
    rt_sigreturn: 15,
    sched_getaffinity: 204,
    sched_yield: 24,
    set_robust_list: 273,
    set_tid_address: 218,
    sigaltstack: 131,
    tgkill: 234,
    timerfd_settime: 286,
    write: 1,
    writev: 20,
  },
  capget: 125,
  capset: 126,
  clone3: 435,
  execve: 59,
  kill: 62,
  landlockCreateRuleset: 444,
  landlockRestrictSelf: 446,
  openat: 257,
  prlimit: 302,
  ptrace: 101,
  seccomp: 317,
  setresuid: 117,
  socket: 41,
};

const arm64: SyscallTable = {
  auditArch: 0xc00000b7,
  allowed: {
    brk: 214,
    clock_getres: 114,
    clock_gettime: 113,
    clock_nanosleep: 115,
    clone: 220,
    close: 57,
    epoll_ctl: 21,
    epoll_pwait: 22,
    epoll_pwait2: 441,
    exit: 93,
    exit_group: 94,
    futex: 98,
    getpid: 172,
    getppid: 173,
    getrandom: 278,
    getrusage: 165,
    gettid: 178,
    gettimeofday: 169,
    lseek: 62,
    madvise: 233,
    membarrier: 283,
    mmap: 222,
    mprotect: 226,
    mremap: 216,
    munmap: 215,
    nanosleep: 101,
    ppoll: 73,
    prctl: 167,
    read: 63,
    readv: 65,
    restart_syscall: 128,
    rseq: 293,
    rt_sigaction: 134,
    rt_sigprocmask: 135,
    rt_sigreturn: 139,
    sched_getaffinity: 123,
    sched_yield: 124,
    set_robust_list: 99,
    set_tid_address: 96,
    sigaltstack: 132,
    tgkill: 131,
    timerfd_settime: 86,
    write: 64,
    writev: 66,
  },
  capget: 90,
  capset: 91,
  clone3: 435,
  execve: 221,
  kill: 129,
  landlockCreateRuleset: 444,
  landlockRestrictSelf: 446,
  openat: 56,
  prlimit: 261,
  ptrace: 117,
  seccomp: 277,
  setresuid: 147,
  socket: 198,
};

/**
 * Returns the table for an architecture (value of `process.arch`); undefined when this file has no
 * table for it.
 */
export function syscallTable(arch: string): SyscallTable | undefined {
  return { x64, arm64 }[arch];
}
