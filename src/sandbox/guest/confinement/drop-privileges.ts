import { GUEST_THREADS_MAX } from "../../guest-limits.ts";
import { ConfinementError } from "./confinement-error.ts";
import type { Kernel } from "./kernel.ts";
import type { SyscallTable } from "./syscall-table.ts";

/** `linux/capability.h`: version 3 has two words of each of the three sets. */
const CAPABILITY_VERSION_3 = 0x20080522;
const CAP_KILL = 5;
const CAP_SETGID = 6;
const CAP_SETUID = 7;
const CAPABILITIES = 64;

const PR_CAPBSET_DROP = 24;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;

const RLIMIT_NPROC = 6;

/**
 * First of the user numbers that no system assigns: above those of containers, one per process id.
 */
const USERS_START = 0x7000_0000;
/** The user of a guest in a user namespace that does not have these numbers. */
const OVERFLOW_USER = 65_534;

/**
 * Drops root's privileges: the guest gets its own user where it may change users, and keeps no
 * capabilities. All threads change users, and so lose their capabilities; a guest that may not
 * change users has few to lose.
 */
export function dropPrivileges(kernel: Kernel, table: SyscallTable): void {
  const header = new Uint32Array([CAPABILITY_VERSION_3, 0]);
  const sets = new Uint32Array(6);
  kernel.syscall(table.capget, header, sets);
  const has = (capability: number) => ((sets[0]! >> capability) & 1) === 1;
  for (let capability = 0; capability < CAPABILITIES; capability += 1) {
    if (kernel.syscall(table.allowed.prctl!, PR_CAPBSET_DROP, capability).value !== 0) break;
  }
  kernel.syscall(table.allowed.prctl!, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // The server must be able to pause and to end a guest that has another user than the server.
  const mayLeave = [CAP_SETUID, CAP_SETGID, CAP_KILL].every(has);
  // In a user namespace whose `setgroups` is `deny` even root keeps its groups, and so their files.
  const keepsGroups = mayLeave && !kernel.dropGroups();
  const keepsUser = mayLeave && !changeUser(kernel, table);
  kernel.syscall(table.capset, header, new Uint32Array(6));
  kernel.syscall(table.capget, header, sets);
  if (sets.some((word) => word !== 0)) throw new ConfinementError("a guest keeps capabilities");
  if (keepsUser) throw new ConfinementError("a guest cannot leave the server's user");
  if (keepsGroups) throw new ConfinementError("a guest cannot leave the server's groups");
}

function changeUser(kernel: Kernel, table: SyscallTable): boolean {
  if (!kernel.setUser(USERS_START + process.pid)) return kernel.setUser(OVERFLOW_USER);
  const limit = new BigUint64Array([BigInt(GUEST_THREADS_MAX), BigInt(GUEST_THREADS_MAX)]);
  kernel.syscall(table.prlimit, 0, RLIMIT_NPROC, limit, 0);
  return true;
}
