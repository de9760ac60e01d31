import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { syscallTable } from "../../../src/sandbox/guest/confinement/syscall-table.ts";
import { firstMissing, missingFile, testWith } from "../../counterpart.ts";

/**
 * The kernel's headers, of Debian's package linux-libc-dev: of two architectures, only one's calls
 * can be tried on the machine at hand.
 */
const headers: Record<string, { unistd: string; machine: string }> = {
  x64: { unistd: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", machine: "EM_X86_64" },
  arm64: { unistd: "/usr/include/asm-generic/unistd.h", machine: "EM_AARCH64" },
};
const MACHINES = "/usr/include/linux/elf-em.h";
/** The flags of 64 bits and of little endian in a number AUDIT_ARCH_*. */
const AUDIT_FLAGS = 0xc000_0000;

/** Numbers that a header defines, by name. */
function defined(path: string): Map<string, number> {
  const lines = readFileSync(path, "utf8").matchAll(/^#define\s+(\w+)\s+(\w+)/gm);
  const values = new Map<string, string>();
  // The first definition counts: below it are those for 32 bits.
  for (const [, name, value] of lines) if (!values.has(name!)) values.set(name!, value!);
  return new Map([...values].map(([name, value]) => [name, Number(values.get(value) ?? value)]));
}

/** Names in the table that differ from the kernel's. */
const kernelNames: Record<string, string> = {
  landlockCreateRuleset: "landlock_create_ruleset",
  landlockRestrictSelf: "landlock_restrict_self",
  prlimit: "prlimit64",
};

for (const [arch, { unistd, machine }] of Object.entries(headers)) {
  const missing = firstMissing(missingFile(unistd), missingFile(MACHINES));
  testWith(missing)(`${arch}: system calls have the kernel's numbers`, () => {
    const { auditArch, allowed, ...others } = syscallTable(arch)!;
    const numbers = defined(unistd);
    const names = { ...allowed, ...others };
    const expected = Object.keys(names).map((name) => {
      return [name, numbers.get(`__NR_${kernelNames[name] ?? name}`)];
    });
    expect<unknown>(names).toEqual(Object.fromEntries(expected));
    expect(auditArch).toBe(defined(MACHINES).get(machine)! + AUDIT_FLAGS);
  });
}
