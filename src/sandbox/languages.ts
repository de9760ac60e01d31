import {
  GUEST_ADDRESS_KIB_MAX,
  GUEST_IDLE_CPU_MS_MAX,
  GUEST_MEMORY_BYTES_MAX,
  GUEST_PROGRAMS_MAX,
  GUEST_PYTHON_ADDRESS_KIB_MAX,
  GUEST_PYTHON_MEMORY_BYTES_MAX,
  GUEST_PYTHON_PROGRAMS_MAX,
  GUEST_PYTHON_RECYCLE_MEMORY_BYTES,
  GUEST_RECYCLE_MEMORY_BYTES,
  GUEST_THREADS_MAX,
  GUEST_WARM_SPARES,
} from "../limits.ts";
import type { GuestLanguage } from "./program.ts";

const everyGuest = { idleCpuMsMax: GUEST_IDLE_CPU_MS_MAX, threadsMax: GUEST_THREADS_MAX };

/** How guests of one language are started and held. */
export interface LanguageTerms {
  /** All that a guest inherits of the environment. */
  environment: Readonly<Record<string, string>>;
  /** `ulimit -v`. */
  addressKibMax: number;
  /** Resident memory above the idle guest's, at which it is killed. */
  memoryBytesMax: number;
  /** The same, at which it is replaced between two batches. */
  recycleBytes: number;
  /** Of all its threads, while it is asked nothing. */
  idleCpuMsMax: number;
  threadsMax: number;
  /** Programs that one guest holds. */
  programsMax: number;
  /** Guests that wait, started and confined, for their first program. */
  spares: number;
  /** Whether spares are started with the sandbox, or once the language is used. */
  sparesFromStart: boolean;
}

export const languages: Readonly<Record<GuestLanguage, LanguageTerms>> = {
  javascript: {
    ...everyGuest,
    environment: {
      TZ: "UTC",
      // What the engine reserves at start shrinks from 6.4 to 1.3 GB, so that the address space
      // can be limited with the JIT on.
      BUN_JSC_structureHeapSizeInKB: "65536",
      BUN_JSC_jitMemoryReservationSize: "67108864",
      // Tail calls would leave the caller out of stack traces.
      BUN_JSC_useTailCalls: "0",
      // Most of the engine's faults were in its optimizing compilers. A batch of 1, 10 or 100 usual
      // events costs the same without them, and a start a tenth less; hashing in loops does not.
      BUN_JSC_useDFGJIT: "0",
      // User code has no use for these.
      BUN_JSC_useWasm: "0",
      BUN_JSC_useSharedArrayBuffer: "0",
      BUN_JSC_useShadowRealm: "0",
    },
    addressKibMax: GUEST_ADDRESS_KIB_MAX,
    memoryBytesMax: GUEST_MEMORY_BYTES_MAX,
    recycleBytes: GUEST_RECYCLE_MEMORY_BYTES,
    programsMax: GUEST_PROGRAMS_MAX,
    spares: GUEST_WARM_SPARES,
    sparesFromStart: true,
  },
  python: {
    ...everyGuest,
    environment: {
      TZ: "UTC",
      BUN_JSC_structureHeapSizeInKB: "65536",
      BUN_JSC_jitMemoryReservationSize: "134217728",
      BUN_JSC_useShadowRealm: "0",
    },
    // WebAssembly memory that is reserved whole grows without a copy and needs no check at each
    // access: a sixth faster, half the peak. Pyodide has two, one of them for a page.
    addressKibMax: GUEST_PYTHON_ADDRESS_KIB_MAX,
    memoryBytesMax: GUEST_PYTHON_MEMORY_BYTES_MAX,
    recycleBytes: GUEST_PYTHON_RECYCLE_MEMORY_BYTES,
    programsMax: GUEST_PYTHON_PROGRAMS_MAX,
    spares: GUEST_WARM_SPARES,
    // It takes 0.3 s of CPU and 200 MB: only for those who use it.
    sparesFromStart: false,
  },
};
