import { type ArgumentCondition, type SyscallRule, syscallRules } from "./syscall-rules.ts";
import type { SyscallTable } from "./syscall-table.ts";

// Classic BPF (`linux/bpf_common.h`) over `struct seccomp_data` (`linux/seccomp.h`).
const LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_FROM = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

const DATA_SYSCALL = 0;
const DATA_ARCH = 4;
const DATA_ARGUMENTS = 16;
const ARGUMENT_BYTES = 8;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const REFUSE = 0x00050000; // SECCOMP_RET_ERRNO
const EPERM = 1;
const ENOSYS = 38;

type Instruction = [code: number, jumpTrue: number, jumpFalse: number, operand: number];

/**
 * Placeholder for the length of a jump to the next alternative of a rule. The function `ruled`
 * replaces it by the number of instructions to skip.
 */
const NEXT = -1;

/**
 * Encodes the allowed system calls as a seccomp filter (`struct sock_filter[]`). Other calls fail
 * and do not kill the process, because even harmless code makes them (JavaScriptCore opens
 * `/proc/self/statm` when its heap grows).
 */
export function seccompFilter(table: SyscallTable, pid: number): Uint8Array {
  const program: Instruction[] = [
    [LOAD_WORD, 0, 0, DATA_ARCH],
    [JUMP_EQUAL, 1, 0, table.auditArch],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD_WORD, 0, 0, DATA_SYSCALL],
    // glibc falls back to clone, whose flags a filter can see (clone3 has them behind a pointer).
    [JUMP_EQUAL, 0, 1, table.clone3],
    [RETURN, 0, 0, REFUSE | ENOSYS],
  ];
  const rules = syscallRules(pid);
  for (const [name, number] of Object.entries(table.allowed)) {
    const rule = rules[name];
    const body: Instruction[] = rule ? ruled(rule) : [[RETURN, 0, 0, ALLOW]];
    program.push([JUMP_EQUAL, 0, body.length, number], ...body);
  }
  program.push([RETURN, 0, 0, REFUSE | EPERM]);
  return encoded(program);
}

function ruled(rule: SyscallRule): Instruction[] {
  const alternatives = rule.alternatives.flatMap((conditions) => {
    const body = [...conditions.flatMap(checked), [RETURN, 0, 0, ALLOW] as Instruction];
    return body.map(([code, whenTrue, whenFalse, operand], at): Instruction => {
      return [code, whenTrue, whenFalse === NEXT ? body.length - at - 1 : whenFalse, operand];
    });
  });
  return [...alternatives, [RETURN, 0, 0, REFUSE | rule.refusal]];
}

/**
 * Returns instructions that check one condition on an argument, whose low word comes first on both
 * processor architectures. If the condition does not hold, execution jumps to the rule's next
 * alternative (`NEXT`).
 */
function checked(condition: ArgumentCondition): Instruction[] {
  const low = DATA_ARGUMENTS + ARGUMENT_BYTES * condition.argument;
  if ("from" in condition) {
    return [
      [LOAD_WORD, 0, 0, low + ARGUMENT_BYTES / 2],
      [JUMP_EQUAL, 0, 2, 0],
      [LOAD_WORD, 0, 0, low],
      [JUMP_FROM, 0, NEXT, condition.from],
    ];
  }
  const { bits, oneOf } = condition;
  return [
    [LOAD_WORD, 0, 0, low],
    ...(bits === undefined ? [] : [[AND, 0, 0, bits] as Instruction]),
    ...oneOf.map((value, index): Instruction => {
      const left = oneOf.length - index - 1;
      return [JUMP_EQUAL, left, left === 0 ? NEXT : 0, value];
    }),
  ];
}

function encoded(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, jumpTrue, jumpFalse, operand]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jumpTrue);
    bytes.setUint8(index * 8 + 3, jumpFalse);
    bytes.setUint32(index * 8 + 4, operand, true);
  }
  return new Uint8Array(bytes.buffer);
}
