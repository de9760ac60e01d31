import { GUEST_MEMORY_BYTES_MAX, GUEST_PYTHON_MEMORY_BYTES_MAX } from "../../settings/limits.ts";
import { GUEST_PROGRAMS_MAX, GUEST_THREADS_MAX } from "../guest-limits.ts";
import type { GuestLanguage } from "../program.ts";

/** Address space of a guest (`ulimit -v`): honest code needs 760 MB; the rest is room to grow. */
const GUEST_ADDRESS_KIB_MAX = 900_000;
/**
 * Memory above an idle guest's after which a guest is replaced between two batches, before it
 * reaches its limit.
 */
export const GUEST_RECYCLE_MEMORY_BYTES = 150 << 20;
/**
 * CPU time that a guest may use without a request, beyond a twentieth of the time, before it is
 * killed.
 */
const GUEST_IDLE_CPU_MS_MAX = 2_000;
/** Warm spare guests per language: started, confined and without work. */
const GUEST_WARM_SPARES = 1;
/** Memory above an idle Python guest's after which a guest is replaced between two batches. */
export const GUEST_PYTHON_RECYCLE_MEMORY_BYTES = 192 << 20;
/** Address space of a Python guest: two reservations of 4 GiB, 1.4 GiB, and 0.7 GiB to grow. */
const GUEST_PYTHON_ADDRESS_KIB_MAX = 10_800_000;
/** Programs in one Python guest; each has its own standard modules (1 to 3 MB). */
const GUEST_PYTHON_PROGRAMS_MAX = 32;

const everyGuest = { idleCpuMsMax: GUEST_IDLE_CPU_MS_MAX, threadsMax: GUEST_THREADS_MAX };

/** Environment and limits of the guests of one language. */
export interface LanguageProfile {
  /** The whole environment of a guest. */
  environment: Readonly<Record<string, string>>;
  /** `ulimit -v`. */
  addressKibMax: number;
  /** Resident memory above the idle guest's, at which it is killed. */
  memoryBytesMax: number;
  /** Resident memory above the idle guest's, at which it is replaced between two batches. */
  recycleBytes: number;
  /** CPU time of all threads of a guest without a request. */
  idleCpuMsMax: number;
  threadsMax: number;
  /** Programs that one guest holds. */
  programsMax: number;
  /** Warm spare guests. */
  spares: number;
  /** Whether spares start with the sandbox instead of with the first use of the language. */
  sparesFromStart: boolean;
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
      // Most of the engine's security faults were in its optimizing compilers. A batch of 1, 10 or 100 usual
      // events costs the same without them, and a start a tenth less; hashing in loops does not.
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
    // A spare takes 0.3 s of CPU and 200 MB, so it starts only where Python is used.
    sparesFromStart: false,
  },
};
