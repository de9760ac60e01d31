/**
 * Runs a command like a kernel without Landlock: the Landlock system calls fail with ENOSYS.
 *
 *   bun test/e2e/without-landlock.ts COMMAND [ARGUMENT …]
 */
import { dlopen, FFIType, ptr } from "bun:ffi";

const { prctl, execv } = dlopen("libc.so.6", {
  prctl: {
    args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64],
    returns: FFIType.i32,
  },
  execv: { args: [FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
}).symbols;

const PR_SET_SECCOMP = 22;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2;
const ENOSYS = 38;
/**
 * Numbers of the Landlock system calls, equal on x86_64 and arm64: create_ruleset, add_rule,
 * restrict_self.
 */
const LANDLOCK = [444, 446];

// struct sock_filter: u16 code, u8 jump if true, u8 jump if false, u32 operand.
const filter = new Uint8Array(
  [
    [0x20, 0, 0, 0], // load the system call's number
    [0x35, 0, 2, LANDLOCK[0]!], // at least the first?
    [0x25, 1, 0, LANDLOCK[1]!], // beyond the last?
    [0x06, 0, 0, 0x00050000 | ENOSYS], // fails
    [0x06, 0, 0, 0x7fff0000], // is allowed
  ].flatMap(([code, yes, no, operand]) => [
    ...[code!, 0, yes!, no!],
    ...new Uint8Array(new Uint32Array([operand!]).buffer),
  ]),
);
const program = new BigUint64Array([BigInt(filter.length / 8), BigInt(ptr(filter))]);
if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) !== 0) throw new Error("no_new_privs failed");
if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ptr(program), 0, 0) !== 0) {
  throw new Error("seccomp failed");
}

const words = process.argv.slice(2).map((word) => Buffer.from(`${word}\0`));
const pointers = new BigUint64Array([...words.map((word) => BigInt(ptr(word))), 0n]);
execv(ptr(words[0]!), ptr(pointers));
throw new Error("execv failed");
