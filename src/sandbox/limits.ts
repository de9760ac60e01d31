import { totalmem } from "node:os";
import {
  GUEST_CPU_MS_MAX,
  GUEST_WALL_MS_MAX,
  GUESTS_MAX,
  GUESTS_MEMORY_SHARE_MAX,
  SUSPENSION_CPU_MS,
  THROW_AWAY_GUESTS_MAX,
  THROW_AWAY_GUESTS_OF_WORKSPACE_MAX,
} from "../settings/limits.ts";

/** Time from the guest's own timeout to the host's SIGKILL. */
const GUEST_KILL_GRACE_MS = 500;
/**
 * Guests that a workspace may lose without a delay; finding the event that is to blame takes up to
 * three.
 */
const FREE_LOSSES = 4;

/** Limits of a sandbox; tests lower them, so that sixty endless loops end in seconds. */
export interface SandboxLimits {
  cpuMs: number;
  graceMs: number;
  wallMs: number;
  /** CPU time of a test without one good event after which its other events do not run. */
  fruitlessTestCpuMs: number;
  guests: number;
  /** Memory of all guests together. */
  memoryBytes: number;
  /** Guests that a workspace may lose within a short time before its next guest is delayed. */
  freeLosses: number;
  throwAways: number;
  throwAwaysOfWorkspace: number;
}

export const defaultLimits: SandboxLimits = {
  cpuMs: GUEST_CPU_MS_MAX,
  graceMs: GUEST_KILL_GRACE_MS,
  wallMs: GUEST_WALL_MS_MAX,
  fruitlessTestCpuMs: SUSPENSION_CPU_MS,
  guests: GUESTS_MAX,
  memoryBytes: GUESTS_MEMORY_SHARE_MAX * memoryOfMachine(),
  freeLosses: FREE_LOSSES,
  throwAways: THROW_AWAY_GUESTS_MAX,
  throwAwaysOfWorkspace: THROW_AWAY_GUESTS_OF_WORKSPACE_MAX,
};

/** Memory in bytes of the container, or of the machine when that has less. */
function memoryOfMachine(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
