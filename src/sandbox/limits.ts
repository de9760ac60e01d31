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
 * Milliseconds between the time limit of a guest process and the SIGKILL with which the host (the
 * server) ends it. Normally the guest itself stops user code at the limit.
 */
const GUEST_KILL_GRACE_MS = 500;
/**
 * Number of recent losses (guest processes that the code of one workspace has ended) that do not
 * delay the workspace's next guest. It is more than three, because one faulty event can cause three
 * losses before it is identified.
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
 * Limits of a sandbox. The server uses `defaultLimits`, but `memoryBytes` can be configured. The
 * project's own tests use other limits, such as a short CPU time to end endless loops soon.
 */
export type SandboxLimits = typeof defaultLimits;
