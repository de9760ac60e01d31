import { readdirSync, readlinkSync } from "node:fs";
import { dropPrivileges } from "./drop-privileges.ts";
import { ConfinementError, type Kernel, openKernel } from "./kernel.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import { type SyscallTable, syscallTable } from "./syscall-table.ts";
import { verify } from "./verify-confinement.ts";

const PR_SET_PDEATHSIG = 1;
const PR_SET_DUMPABLE = 4;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGKILL = 9;

const SECCOMP_SET_MODE_FILTER = 1;
/**
 * Flag of the system call `seccomp` that applies the filter to all threads of the process. Without
 * it, the threads of Bun's pool would stay unrestricted, because they are started before the filter
 * is installed.
 */
const SECCOMP_FILTER_FLAG_TSYNC = 1;

const LANDLOCK_CREATE_RULESET_VERSION = 1;
const LANDLOCK_NET_BIND_CONNECT = 3n;
const LANDLOCK_SCOPE_SOCKET_SIGNAL = 3n;
/**
 * Number of Landlock's file system rights in each ABI version, from version 1 on. For versions
 * beyond this list, the last number is used.
 */
const LANDLOCK_FS_RIGHTS = [13n, 14n, 15n, 15n, 16n];

/**
 * Steps of the confinement, in the order of execution. `setProcess` comes after `dropPrivileges`,
 * because a change of the user resets the parent-death signal. `closeInherited` comes before
 * `restrictFiles`, because Landlock makes `/proc` unreadable.
 */
const allSteps = [
  closeInherited,
  dropPrivileges,
  setProcess,
  restrictFiles,
  filterSystemCalls,
  verify,
];

/**
 * Confines this process permanently, so that it can only compute and use its open pipes, and
 * verifies this. Returns a text that lists the missing parts of the confinement; undefined when it
 * is complete. Rejects with any error other than a `ConfinementError`.
 */
export async function confine(steps = allSteps): Promise<string | undefined> {
  const table = process.platform === "linux" ? syscallTable(process.arch) : undefined;
  if (!table) return `no confinement is written for ${process.platform} on ${process.arch}`;
  const kernel = openKernel();
  const reasons: string[] = [];
  for (const step of steps) {
    try {
      await step(kernel, table);
    } catch (error) {
      if (!(error instanceof ConfinementError)) throw error;
      reasons.push(error.message);
    }
  }
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

export function setProcess(kernel: Kernel, table: SyscallTable): void {
  const settings: [option: number, value: number][] = [
    [PR_SET_NO_NEW_PRIVS, 1],
    // Other processes cannot read the memory, the descriptors and the environment of this one
    // through /proc, and it leaves no core dump. The kernel ends it when the host ends.
    [PR_SET_DUMPABLE, 0],
    [PR_SET_PDEATHSIG, SIGKILL],
  ];
  for (const [option, value] of settings) {
    const { value: result, errno } = kernel.syscall(table.allowed.prctl!, option, value);
    if (result !== 0) throw new ConfinementError(`prctl ${option} failed with error ${errno}`);
  }
}

/**
 * Applies Landlock without any exception: this process can open no path and no port, and cannot
 * send signals or connect to abstract sockets outside itself. Older kernels apply only some of
 * these restrictions.
 */
export function restrictFiles(kernel: Kernel, table: SyscallTable): void {
  const { value: version } = kernel.syscall(
    table.landlockCreateRuleset,
    0,
    0,
    LANDLOCK_CREATE_RULESET_VERSION,
  );
  if (version < 1)
    throw new ConfinementError("this kernel has no Landlock (Linux 5.13 or newer has it)");
  const rights = LANDLOCK_FS_RIGHTS[Math.min(version, LANDLOCK_FS_RIGHTS.length) - 1]!;
  const handled = [(1n << rights) - 1n];
  if (version >= 4) handled.push(LANDLOCK_NET_BIND_CONNECT);
  if (version >= 6) handled.push(LANDLOCK_SCOPE_SOCKET_SIGNAL);
  const attributes = new BigUint64Array(handled);
  const ruleset = kernel.syscall(table.landlockCreateRuleset, attributes, attributes.byteLength, 0);
  if (ruleset.value < 0) throw new ConfinementError(`Landlock failed with error ${ruleset.errno}`);
  const restricted = kernel.syscall(table.landlockRestrictSelf, ruleset.value, 0);
  kernel.syscall(table.allowed.close!, ruleset.value);
  if (restricted.value !== 0) {
    throw new ConfinementError(`Landlock failed with error ${restricted.errno}`);
  }
}

export function filterSystemCalls(kernel: Kernel, table: SyscallTable): void {
  const filter = seccompFilter(table, process.pid);
  // struct sock_fprog: u16 length, six bytes of padding, pointer to the instructions.
  const program = new BigUint64Array([BigInt(filter.length / 8), kernel.address(filter)]);
  const { value, errno } = kernel.syscall(
    table.seccomp,
    SECCOMP_SET_MODE_FILTER,
    SECCOMP_FILTER_FLAG_TSYNC,
    program,
  );
  if (value !== 0) throw new ConfinementError(`this kernel has no seccomp filter (error ${errno})`);
}

const STDERR = 2;

/**
 * Closes all open files, directories and sockets except the standard streams, because Landlock and
 * seccomp do not prevent their use. The runtime's anonymous descriptors (epoll, eventfd) stay open,
 * because they reach nothing outside the process.
 */
function closeInherited(kernel: Kernel, table: SyscallTable): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor > STDERR && reachesOutside(name)) {
      kernel.syscall(table.allowed.close!, descriptor);
    }
  }
}

function reachesOutside(name: string): boolean {
  try {
    return !readlinkSync(`/proc/self/fd/${name}`).startsWith("anon_inode:");
  } catch {
    return false; // The directory that was being listed: closed by now.
  }
}
