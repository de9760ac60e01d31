import { usableMemory } from "../observe/memory.ts";
import {
  GUEST_CPU_MS_MAX,
  GUEST_WALL_MS_MAX,
  GUESTS_MAX,
  GUESTS_MEMORY_SHARE_MAX,
  THROW_AWAY_GUESTS_MAX,
  THROW_AWAY_GUESTS_OF_WORKSPACE_MAX,
} from "../settings/limits.ts";

/**
 * Milliseconds that the host (the server) waits after a guest process has reached its time limit
 * before it kills the process with SIGKILL. Normally the guest itself stops user code at the limit.
 */
const GUEST_KILL_GRACE_MS = 500;
/**
 * Number of guest processes that the code of one workspace may end within a short time before the
 * server delays the workspace's next guest. It is more than three, because one faulty event can end
 * three guests before the server knows which event is at fault.
 */
const FREE_LOSSES = 4;

/**
 * Number of spare guest processes per language. They are started and confined in advance, and have
 * no work yet.
 */
const GUEST_WARM_SPARES = 1;

export const defaultLimits = {
  cpuMs: GUEST_CPU_MS_MAX,
  graceMs: GUEST_KILL_GRACE_MS,
  wallMs: GUEST_WALL_MS_MAX,
  guests: GUESTS_MAX,
  /** Memory in bytes that all guest processes together may use. */
  memoryBytes: GUESTS_MEMORY_SHARE_MAX * usableMemory().totalBytes,
  freeLosses: FREE_LOSSES,
  throwAways: THROW_AWAY_GUESTS_MAX,
  throwAwaysOfWorkspace: THROW_AWAY_GUESTS_OF_WORKSPACE_MAX,
  spares: GUEST_WARM_SPARES,
};

/**
 * Limits of a sandbox. Tests set lower limits, so that code with endless loops is stopped within
 * seconds.
 */
export type SandboxLimits = typeof defaultLimits;
