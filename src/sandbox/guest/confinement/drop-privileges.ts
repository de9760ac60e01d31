import { GUEST_THREADS_MAX } from "../../guest-limits.ts";
import { ConfinementError, type Kernel } from "./kernel.ts";
import type { SyscallTable } from "./syscall-table.ts";

/**
 * Version of the capability structures in `linux/capability.h` in which each of the three sets of
 * capabilities consists of two words.
 */
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
 * Number that is added to the process id of a guest (a process that runs user code) to get the
 * guest's user id. No system assigns such high ids to users, and containers use only lower ones.
 */
const USERS_START = 0x7000_0000;
/**
 * User id that a guest process takes in a user namespace that does not contain the ids from
 * `USERS_START` on.
 */
const OVERFLOW_USER = 65_534;

/**
 * Gives up all capabilities and, if the process has the capabilities for it, the server's user and
 * groups. Throws `ConfinementError` if a capability remains, or if the change of the user or groups
 * fails.
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
