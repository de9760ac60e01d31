import { availableParallelism } from "node:os";
import { GUEST_MEMORY_BYTES_MAX, GUEST_PYTHON_MEMORY_BYTES_MAX } from "../../settings/limits.ts";
import { GUEST_PROGRAMS_MAX, GUEST_THREADS_MAX } from "../guest-limits.ts";
import type { GuestLanguage } from "../program.ts";

/**
 * Maximum address space in KiB of a JavaScript guest process (`ulimit -v`). Code that stays within
 * the memory limit needs 760 MB of address space; the rest is a reserve.
 */
const GUEST_ADDRESS_KIB_MAX = 900_000;
/**
 * Memory in bytes above which a JavaScript guest process is replaced between two batches, counted
 * without the memory of an idle guest. The limit above which a guest is killed is higher.
 */
export const GUEST_RECYCLE_MEMORY_BYTES = 150 << 20;
/**
 * CPU time in ms that a guest process may use while it has no request, on top of 5% of the elapsed
 * time. A guest that uses more is killed.
 */
const GUEST_IDLE_CPU_MS_MAX = 2_000;
/**
 * Memory in bytes above which a Python guest process is replaced between two batches, counted
 * without the memory of an idle guest.
 */
export const GUEST_PYTHON_RECYCLE_MEMORY_BYTES = 192 << 20;
/**
 * Milliseconds by which the start of a new spare Python guest is delayed after work had to wait for
 * its guest, because the start would slow this work down. A test of user code takes about 35 ms, so
 * it has usually ended by then.
 */
const GUEST_PYTHON_REFILL_PAUSE_MS = 100;
/** Maximum number of threads that compile WebAssembly in a Python guest process. */
const PYTHON_COMPILER_THREADS_MAX = 4;
/**
 * Maximum address space in KiB of a Python guest process: 8 GiB for two reservations of WebAssembly
 * memory of 4 GiB each, and 2.3 GiB for the rest of the process, including a reserve.
 */
const GUEST_PYTHON_ADDRESS_KIB_MAX = 10_800_000;
/**
 * Maximum number of programs in one Python guest process. Each program has its own copies of the
 * standard modules (1 to 3 MB).
 */
const GUEST_PYTHON_PROGRAMS_MAX = 32;

const everyGuest = { idleCpuMsMax: GUEST_IDLE_CPU_MS_MAX, threadsMax: GUEST_THREADS_MAX };

/** Environment variables and resource limits of the guest processes of one language. */
export interface LanguageProfile {
  /** All environment variables of a guest process, which inherits none of the server's. */
  environment: Readonly<Record<string, string>>;
  /** Maximum address space in KiB of a guest process (`ulimit -v`). */
  addressKibMax: number;
  /**
   * Number of bytes by which the resident memory of a guest process may grow after its start. A
   * process that has grown by more is killed.
   */
  memoryBytesMax: number;
  /**
   * Number of bytes by which the resident memory of a guest process may grow after its start. A
   * process that has grown by more than `recycleBytes` is replaced between two batches.
   */
  recycleBytes: number;
  /**
   * CPU time in ms, summed over all threads, that a guest process may use while it has no request,
   * on top of 5% of the elapsed time. A guest that uses more is killed.
   */
  idleCpuMsMax: number;
  threadsMax: number;
  /** Maximum number of programs that one guest process keeps loaded at the same time. */
  programsMax: number;
  /**
   * Whether spare guest processes start together with the sandbox. If false, they start when the
   * language is first used.
   */
  sparesFromStart: boolean;
  /**
   * Delay in milliseconds before the next spare guest starts, if work had to wait for its guest;
   * otherwise there is none. With few processors, the start would slow down this work.
   */
  refillPauseMs: number;
}

export const languageProfiles: Readonly<Record<GuestLanguage, LanguageProfile>> = {
  javascript: {
    ...everyGuest,
    environment: {
      TZ: "UTC",
      // With this, the engine reserves 1.3 GB at its start instead of 6.4, so that the address
      // space can be limited while the JIT is on.
      BUN_JSC_structureHeapSizeInKB: "65536",
      BUN_JSC_jitMemoryReservationSize: "67108864",
      // Tail calls would remove the caller from stack traces.
      BUN_JSC_useTailCalls: "0",
      // Most of the engine's security faults were in its optimizing compilers. Without them, a
      // batch of 1, 10 or 100 usual events costs the same, and a start a tenth less. Code that
      // hashes in loops becomes slower.
      BUN_JSC_useDFGJIT: "0",
      // User code does not need these.
      BUN_JSC_useWasm: "0",
      BUN_JSC_useSharedArrayBuffer: "0",
      BUN_JSC_useShadowRealm: "0",
    },
    addressKibMax: GUEST_ADDRESS_KIB_MAX,
    memoryBytesMax: GUEST_MEMORY_BYTES_MAX,
    recycleBytes: GUEST_RECYCLE_MEMORY_BYTES,
    programsMax: GUEST_PROGRAMS_MAX,
    sparesFromStart: true,
    refillPauseMs: 0,
  },
  python: {
    ...everyGuest,
    environment: {
      TZ: "UTC",
      BUN_JSC_structureHeapSizeInKB: "65536",
      BUN_JSC_jitMemoryReservationSize: "134217728",
      BUN_JSC_useShadowRealm: "0",
      // The engine would leave one processor of two free, and half of a start is compiling.
      BUN_JSC_numberOfWasmCompilerThreads: `${Math.min(PYTHON_COMPILER_THREADS_MAX, availableParallelism())}`,
    },
    // WebAssembly memory that is reserved whole grows without a copy and needs no check at each
    // access: a sixth faster, half the peak. Pyodide has two, one of them for a page.
    addressKibMax: GUEST_PYTHON_ADDRESS_KIB_MAX,
    memoryBytesMax: GUEST_PYTHON_MEMORY_BYTES_MAX,
    recycleBytes: GUEST_PYTHON_RECYCLE_MEMORY_BYTES,
    programsMax: GUEST_PYTHON_PROGRAMS_MAX,
    // A spare takes 0.3 s of CPU and 200 MB, so it starts only where Python is used.
    sparesFromStart: false,
    refillPauseMs: GUEST_PYTHON_REFILL_PAUSE_MS,
  },
};
