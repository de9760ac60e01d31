import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Kernel } from "./kernel.ts";
import type { SyscallTable } from "./syscalls.ts";
import { Unconfined } from "./unconfined.ts";

const AT_FDCWD = -100;
const AF_UNIX = 1;
const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const PTRACE_TRACEME = 0;
const SIGCHLD = 17;
const RULE_PATH = "/proc/self/status";

/** Tries from inside what the confinement forbids; throws `Unconfined` at what succeeds. */
export async function verify(kernel: Kernel, table: SyscallTable): Promise<void> {
  const path = Buffer.from(`${RULE_PATH}\0`);
  const none = new BigUint64Array(1);
  const forbidden: [what: string, number: number, ...args: (number | ArrayBufferView)[]][] = [
    ["open a file", table.openat, AT_FDCWD, path, 0],
    ["open a socket", table.socket, AF_INET, SOCK_STREAM, 0],
    ["open a datagram socket", table.socket, AF_INET, SOCK_DGRAM, 0],
    ["open a local socket", table.socket, AF_UNIX, SOCK_STREAM, 0],
    ["start a program", table.execve, Buffer.from("/proc/self/exe\0"), none, none],
    ["trace a process", table.ptrace, PTRACE_TRACEME, 0, 0, 0],
    // Signal 0 tests the right to send one and sends none.
    ["signal its parent", table.kill, process.ppid, 0],
    ["signal a process", table.tgkill, process.ppid, process.ppid, 0],
    ["become dumpable", table.prctl, 4, 1],
  ];
  for (const [what, number, ...args] of forbidden) {
    if (kernel.call(number, ...args).value !== -1) throw new Unconfined(`a guest can ${what}`);
  }
  verifyNoFork(kernel, table);
  if (succeeds(() => openSync(RULE_PATH, "r"))) throw new Unconfined("a guest can open a file");
  // Through a pool thread: Landlock binds the calling thread only, the filter must bind all.
  const opened = await readFile(RULE_PATH).then(
    () => true,
    () => false,
  );
  if (opened) throw new Unconfined("a thread of a guest can open a file");
}

function verifyNoFork(kernel: Kernel, table: SyscallTable): void {
  const { value } = kernel.call(table.clone, SIGCHLD, 0, 0, 0, 0);
  if (value === 0) kernel.call(table.allowed.exit_group!, 0); // The child that must not be.
  if (value !== -1) throw new Unconfined("a guest can start a process");
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
