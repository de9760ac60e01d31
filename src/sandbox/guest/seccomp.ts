import type { SyscallTable } from "./syscalls.ts";

// Classic BPF (`linux/bpf_common.h`) over `struct seccomp_data` (`linux/seccomp.h`).
const LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_SET = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

const DATA_SYSCALL = 0;
const DATA_ARCH = 4;
/** Low half of the first argument; both architectures are little-endian. */
const DATA_ARGUMENT = 16;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const REFUSE = 0x00050000; // SECCOMP_RET_ERRNO
const EPERM = 1;
const ENOSYS = 38;

const CLONE_THREAD = 0x00010000;
/** What glibc (0x3d0f00) and musl (0x7d0f00) pass to start a thread; nothing else may be set. */
const CLONE_THREAD_FLAGS = 0x007d0f00;
const PR_SET_NAME = 15;
const PR_SET_VMA = 0x53564d41;

/**
 * The allow-list as `struct sock_filter[]`. What is not listed fails with EPERM, which a healthy
 * guest meets too (JavaScriptCore opens `/proc/self/statm` when its heap grows), so that killing
 * instead would kill honest code.
 */
export function seccompFilter(table: SyscallTable, pid: number): Uint8Array {
  const program: [code: number, jumpTrue: number, jumpFalse: number, operand: number][] = [
    [LOAD_WORD, 0, 0, DATA_ARCH],
    [JUMP_EQUAL, 1, 0, table.auditArch],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD_WORD, 0, 0, DATA_SYSCALL],
  ];
  for (const number of Object.values(table.allowed)) {
    program.push([JUMP_EQUAL, 0, 1, number], [RETURN, 0, 0, ALLOW]);
  }
  program.push(
    // glibc falls back to clone, whose flags a filter can see (clone3 has them behind a pointer).
    [JUMP_EQUAL, 0, 1, table.clone3],
    [RETURN, 0, 0, REFUSE | ENOSYS],
    // Threads, no processes.
    [JUMP_EQUAL, 0, 5, table.clone],
    [LOAD_WORD, 0, 0, DATA_ARGUMENT],
    [JUMP_SET, 0, 2, CLONE_THREAD],
    [JUMP_SET, 1, 0, ~CLONE_THREAD_FLAGS >>> 0],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, REFUSE | EPERM],
    // Signals to its own threads: the garbage collector suspends them.
    [JUMP_EQUAL, 0, 4, table.tgkill],
    [LOAD_WORD, 0, 0, DATA_ARGUMENT],
    [JUMP_EQUAL, 0, 1, pid],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, REFUSE | EPERM],
    // Names of threads and of memory.
    [JUMP_EQUAL, 0, 4, table.prctl],
    [LOAD_WORD, 0, 0, DATA_ARGUMENT],
    [JUMP_EQUAL, 1, 0, PR_SET_NAME],
    [JUMP_EQUAL, 0, 1, PR_SET_VMA],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, REFUSE | EPERM],
  );
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, jumpTrue, jumpFalse, operand]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jumpTrue);
    bytes.setUint8(index * 8 + 3, jumpFalse);
    bytes.setUint32(index * 8 + 4, operand, true);
  }
  return new Uint8Array(bytes.buffer);
}
