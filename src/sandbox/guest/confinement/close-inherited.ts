import { readdirSync, readlinkSync } from "node:fs";
import type { Kernel } from "./kernel.ts";
import type { SyscallTable } from "./syscall-table.ts";

const STDERR = 2;

/**
 * Closes every open file, directory and socket but the three standard streams: an open one stays
 * usable behind Landlock and seccomp. The runtime's own anonymous descriptors (epoll,
 * eventfd) reach nothing and stay.
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
