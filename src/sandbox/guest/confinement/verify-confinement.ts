import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { ConfinementError, type Kernel } from "./kernel.ts";
import type { SyscallTable } from "./syscall-table.ts";

const AT_FDCWD = -100;
const AF_UNIX = 1;
const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const PTRACE_TRACEME = 0;
const SIGCHLD = 17;
const PAGE_BYTES = 65_536;
const PROT_READ_WRITE = 3;
const PROT_READ_EXECUTE = 5;
const MAP_PRIVATE_ANONYMOUS = 0x22;
const MAP_FIXED = 0x10;
const MADV_MERGEABLE = 12;
const FUTEX_LOCK_PI_PRIVATE = 0x86;
const RULE_PATH = "/proc/self/status";

/**
 * Tries every forbidden action inside the guest process. Throws `ConfinementError` when an action
 * succeeds.
 */
export async function verify(kernel: Kernel, table: SyscallTable): Promise<void> {
  const path = Buffer.from(`${RULE_PATH}\0`);
  const none = new BigUint64Array(1);
  const forbidden: [what: string, number: number, ...args: (number | ArrayBufferView)[]][] = [
    ["open a file", table.openat, AT_FDCWD, path],
    ["open a socket", table.socket, AF_INET, SOCK_STREAM],
    ["open a datagram socket", table.socket, AF_INET, SOCK_DGRAM],
    ["open a local socket", table.socket, AF_UNIX, SOCK_STREAM],
    ["start a program", table.execve, Buffer.from("/proc/self/exe\0"), none, none],
    ["change its user", table.setresuid, -1, -1, -1],
    ["trace a process", table.ptrace, PTRACE_TRACEME],
    // Signal 0 tests the right to send one and sends none.
    ["signal its parent", table.kill, process.ppid, 0],
    ["signal a process", table.allowed.tgkill!, process.ppid, process.ppid, 0],
    ["become dumpable", table.allowed.prctl!, 4, 1],
  ];
  for (const [what, number, ...args] of forbidden) {
    if (kernel.syscall(number, ...args).value !== -1)
      throw new ConfinementError(`a guest can ${what}`);
  }
  verifyArguments(kernel, table);
  verifyNoFork(kernel, table);
  if (await succeeds(() => openSync(RULE_PATH, "r")))
    throw new ConfinementError("a guest can open a file");
  // The read goes through a pool thread: Landlock binds the calling thread only, but the filter
  // must bind all.
  if (await succeeds(() => readFile(RULE_PATH)))
    throw new ConfinementError("a thread of a guest can open a file");
}

/**
 * Makes allowed system calls with forbidden arguments. Throws `ConfinementError` when a call
 * succeeds.
 */
function verifyArguments(kernel: Kernel, { allowed }: SyscallTable): void {
  const map = (address: number, protection: number, flags: number) =>
    kernel.syscall(allowed.mmap!, address, PAGE_BYTES, protection, flags, -1, 0).value;
  const page = map(0, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS);
  const answer = new BigUint64Array(128);
  const succeeded = (number: number, ...args: (number | ArrayBufferView)[]) =>
    kernel.syscall(number, ...args).value !== -1;
  const clockOfParent = (~process.ppid << 3) | 2;
  const attempts: [what: string, done: boolean][] = [
    ["map the null page", map(0, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS | MAP_FIXED) !== -1],
    ["map executable memory", map(0, PROT_READ_EXECUTE, MAP_PRIVATE_ANONYMOUS) !== -1],
    ["execute its memory", succeeded(allowed.mprotect!, page, PAGE_BYTES, PROT_READ_EXECUTE)],
    ["share its memory", succeeded(allowed.madvise!, page, PAGE_BYTES, MADV_MERGEABLE)],
    ["inherit priorities", succeeded(allowed.futex!, answer, FUTEX_LOCK_PI_PRIVATE)],
    ["look for processes", succeeded(allowed.sched_getaffinity!, process.ppid, 1_024, answer)],
    ["read another's clock", succeeded(allowed.clock_gettime!, clockOfParent, answer)],
  ];
  kernel.syscall(allowed.munmap!, page, PAGE_BYTES);
  for (const [what, done] of attempts) if (done) throw new ConfinementError(`a guest can ${what}`);
}

function verifyNoFork(kernel: Kernel, table: SyscallTable): void {
  const { value } = kernel.syscall(table.allowed.clone!, SIGCHLD);
  // The child process, which must not exist, ends here.
  if (value === 0) kernel.syscall(table.allowed.exit_group!, 0);
  if (value !== -1) throw new ConfinementError("a guest can start a process");
}

async function succeeds(attempt: () => unknown): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch {
    return false;
  }
}
