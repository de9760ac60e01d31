import { readdirSync, readlinkSync } from "node:fs";
import type { Kernel } from "./kernel.ts";
import type { SyscallTable } from "./syscall-table.ts";

const STDERR = 2;

/**
 * Closes all open files, directories and sockets except the three standard streams, because
 * Landlock and seccomp do not prevent the use of what is already open. The runtime's own anonymous
 * descriptors (epoll, eventfd) stay open: they give access to nothing outside the process.
 */
export function closeInherited(kernel: Kernel, table: SyscallTable): void {
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
