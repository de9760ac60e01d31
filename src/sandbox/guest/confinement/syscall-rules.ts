/**
 * Rule for a system call that is allowed only with certain arguments, because other arguments would
 * permit more than a guest process needs.
 */
export interface SyscallRule {
  /** Lists of conditions. The call is allowed when all conditions of at least one list are met. */
  alternatives: readonly (readonly ArgumentCondition[])[];
  /** Error number (errno) that the system call returns when it is refused. */
  refusal: number;
}

/**
 * Condition on the argument with the index `argument` of a system call.
 * - `oneOf`: the low 32 bits, masked with `bits` if present, must equal one of the numbers
 * - `from`: the argument is an address and must be at least `from`
 */
export type ArgumentCondition =
  | { argument: number; bits?: number; oneOf: readonly number[] }
  | { argument: number; from: number };

const EPERM = 1;
const ENOSYS = 38;

const CLONE_THREAD = 0x0001_0000;
/**
 * Flags that a call of `clone` may have: all that the C library uses to start a thread (glibc
 * 0x3d0f00, musl 0x7d0f00).
 */
const CLONE_THREAD_FLAGS = 0x007d_0f00;
const PR_SET_NAME = 15;
const PR_SET_VMA = 0x5356_4d41;

const PROT_READ_WRITE = 3;
const MAP_PRIVATE = 0x2;
const MAP_FIXED = 0x10;
const MAP_ANONYMOUS = 0x20;
const MAP_NORESERVE = 0x4000;
const MAP_STACK = 0x2_0000;
const MAP_FIXED_NOREPLACE = 0x10_0000;
const MAP_AT = MAP_FIXED | MAP_FIXED_NOREPLACE;
const MAP_FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_AT;
/**
 * Lowest address at which a guest process may place memory. A faulty kernel that follows a null
 * pointer reads structures near address 0, so a guest must not be able to put any there.
 */
const LOW_ADDRESSES = 0x1_0000;
const MREMAP_MAYMOVE = 1;

/**
 * Advice (argument of `madvise`) that a guest process may give about its own memory: NORMAL,
 * RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP,
 * GUARD_INSTALL, GUARD_REMOVE. Advice that merges pages with those of other processes, pages memory
 * out or poisons it is not allowed.
 */
const ADVICE = [0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 102, 103];
/**
 * Flags FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME, which are allowed together with any allowed
 * operation of `futex`.
 */
const FUTEX_FLAGS = 0x180;
/**
 * Allowed operations of `futex`: WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET,
 * WAKE_BITSET. Operations with priority inheritance are not allowed.
 */
const FUTEX_OPERATIONS = [0, 1, 3, 4, 5, 9, 10];
/**
 * Allowed commands of the system call `membarrier`: QUERY, PRIVATE_EXPEDITED,
 * PRIVATE_EXPEDITED_SYNC_CORE, and the registration of the last two. They affect only the guest's
 * own process.
 */
const BARRIERS = [0, 8, 16, 32, 64];
/** Bit that is set in a clock's number if the clock measures the CPU time of a given process. */
const CLOCK_OF_PROCESS = 0x8000_0000;

/**
 * Returns the rules for the arguments of system calls. The keys are the names of the calls in
 * `syscall-table.ts`. `pid` is the process id of the guest, the process that runs user code.
 */
export function syscallRules(pid: number): Readonly<Record<string, SyscallRule>> {
  const ownClocks = all({ argument: 0, bits: CLOCK_OF_PROCESS, oneOf: [0] });
  // No new executable memory is allowed: the compilers have mapped theirs by now.
  const data = { bits: ~PROT_READ_WRITE, oneOf: [0] };
  const anonymous = [
    { argument: 2, ...data },
    { argument: 3, bits: ~MAP_FLAGS, oneOf: [0] },
  ];
  return {
    // Threads, no processes.
    clone: all(
      { argument: 0, bits: CLONE_THREAD, oneOf: [CLONE_THREAD] },
      { argument: 0, bits: ~CLONE_THREAD_FLAGS, oneOf: [0] },
    ),
    // Signals to the guest's own threads, by which the garbage collector suspends them.
    tgkill: all({ argument: 0, oneOf: [pid] }),
    // Names of threads and of memory.
    prctl: all({ argument: 0, oneOf: [PR_SET_NAME, PR_SET_VMA] }),
    mmap: {
      alternatives: [
        [...anonymous, { argument: 3, bits: MAP_AT, oneOf: [0] }],
        [...anonymous, { argument: 0, from: LOW_ADDRESSES }],
      ],
      refusal: EPERM,
    },
    mprotect: all({ argument: 2, ...data }),
    mremap: all({ argument: 3, oneOf: [0, MREMAP_MAYMOVE] }),
    madvise: all({ argument: 2, oneOf: ADVICE }),
    futex: all({ argument: 1, bits: ~FUTEX_FLAGS, oneOf: FUTEX_OPERATIONS }),
    membarrier: all({ argument: 0, oneOf: BARRIERS }),
    // The C library makes this call for each new thread by its id, and works without the result.
    sched_getaffinity: { ...all({ argument: 0, oneOf: [0] }), refusal: ENOSYS },
    clock_getres: ownClocks,
    clock_gettime: ownClocks,
    clock_nanosleep: ownClocks,
  };
}

function all(...conditions: ArgumentCondition[]): SyscallRule {
  return { alternatives: [conditions], refusal: EPERM };
}
