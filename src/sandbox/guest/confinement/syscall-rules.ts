/**
 * Bounds the arguments of an allowed system call that could do more than a guest needs. The low 32
 * bits of an argument decide; wider arguments are addresses.
 */
export interface SyscallRule {
  /** The call is allowed when all conditions of one of these hold. */
  alternatives: readonly (readonly ArgumentCondition[])[];
  /** Error number of a refused call. */
  refusal: number;
}

/** An argument, or some bits of it, is one of these; or an address starts at `from`. */
export type ArgumentCondition =
  | { argument: number; bits?: number; oneOf: readonly number[] }
  | { argument: number; from: number };

const EPERM = 1;
const ENOSYS = 38;

const CLONE_THREAD = 0x0001_0000;
/** Flags that glibc (0x3d0f00) and musl (0x7d0f00) pass to start a thread; no other may be set. */
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
/** Low addresses: kernel code that dereferences null by mistake looks for structures near null. */
const LOW_ADDRESSES = 0x1_0000;
const MREMAP_MAYMOVE = 1;

/**
 * Advice about a guest's own memory, in its own process: NORMAL, RANDOM, SEQUENTIAL, WILLNEED,
 * DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP, GUARD_INSTALL, GUARD_REMOVE. Left out:
 * merging with other processes' pages, pushing them out, poisoning them.
 */
const ADVICE = [0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 102, 103];
/** FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME, which go with any operation. */
const FUTEX_FLAGS = 0x180;
/** WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET, WAKE_BITSET: none with inheritance. */
const FUTEX_OPERATIONS = [0, 1, 3, 4, 5, 9, 10];
/** QUERY, and of PRIVATE_EXPEDITED and its SYNC_CORE use and registration: none beyond itself. */
const BARRIERS = [0, 8, 16, 32, 64];
/** A clock with this bit is another process's, by its id. */
const CLOCK_OF_PROCESS = 0x8000_0000;

/** The rules by the names of `syscall-table.ts`. */
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
