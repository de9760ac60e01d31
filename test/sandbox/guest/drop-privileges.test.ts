import { expect, test } from "bun:test";
import { dropPrivileges } from "../../../src/sandbox/guest/confinement/drop-privileges.ts";
import { ConfinementError, type Kernel } from "../../../src/sandbox/guest/confinement/kernel.ts";
import { syscallTable } from "../../../src/sandbox/guest/confinement/syscall-table.ts";
import { GUEST_THREADS_MAX } from "../../../src/sandbox/guest-limits.ts";

const table = syscallTable("x64")!;

/** A kernel on which root may do all but what is said, and loses its capabilities when it asks. */
function rootKernel(refused: Partial<Kernel>, given = 0xffff_ffff) {
  const users: number[] = [];
  let word = given;
  const kernel: Kernel = {
    address: () => 0n,
    dropGroups: () => true,
    setUser: (user) => users.push(user) > 0,
    syscall(number, _header, sets) {
      if (number === table.capget) (sets as Uint32Array).fill(word);
      if (number === table.capset) word = 0;
      return { value: 0, errno: 0 };
    },
    ...refused,
  };
  return { kernel, users, capabilities: () => word };
}

test("a guest of root becomes another user", () => {
  const { kernel, users } = rootKernel({});
  dropPrivileges(kernel, table);
  expect(users).toHaveLength(1);
});

test("a guest that keeps the server's groups is not confined, whatever else it gives up", () => {
  const { kernel, users, capabilities } = rootKernel({ dropGroups: () => false });
  expect(() => dropPrivileges(kernel, table)).toThrow(
    new ConfinementError("a guest cannot leave the server's groups"),
  );
  expect([users.length, capabilities()]).toEqual([1, 0]);
});

test("a guest that cannot become any other user is not confined", () => {
  const { kernel } = rootKernel({ setUser: () => false });
  expect(() => dropPrivileges(kernel, table)).toThrow(ConfinementError);
});

/** Capabilities of linux/capability.h that a process needs to take another user. */
const [CAP_KILL, CAP_SETGID, CAP_SETUID] = [5, 6, 7];
/** Ids of users that no system gives away, and that of a user namespace without them. */
const [USERS_START, OVERFLOW_USER] = [0x7000_0000, 65_534];

/** A kernel that notes all calls, and has `known` capabilities. */
function notingKernel(known: number, refused: Partial<Kernel> = {}) {
  const calls: [number: number, ...args: unknown[]][] = [];
  let sets = 0xffff_ffff;
  const { kernel, users } = rootKernel({
    syscall(number, ...args) {
      const [first, second] = args as [unknown, unknown];
      const listed = args.map((it) => {
        return ArrayBuffer.isView(it) ? Array.from(it as unknown as ArrayLike<unknown>) : it;
      });
      calls.push([number, ...listed]);
      if (number === table.capget) (second as Uint32Array).fill(sets);
      if (number === table.capset) sets = 0;
      const isUnknown = first === 24 && (second as number) >= known;
      return { value: isUnknown ? -1 : 0, errno: 0 };
    },
    ...refused,
  });
  return { kernel, users, calls };
}

test("a guest gives up each capability that the kernel knows, in each of its sets", () => {
  for (const [known, asked] of [
    [41, 42],
    [64, 64],
  ] as const) {
    const { kernel, calls } = notingKernel(known);
    dropPrivileges(kernel, table);
    const header = [0x20080522, 0];
    // PR_CAPBSET_DROP, then PR_CAP_AMBIENT with PR_CAP_AMBIENT_CLEAR_ALL, of linux/prctl.h.
    const { prctl } = table.allowed;
    expect(calls).toEqual([
      [table.capget, header, Array(6).fill(0)],
      ...Array.from({ length: asked }, (_, capability) => [prctl!, 24, capability] as never),
      [prctl!, 47, 4, 0, 0, 0],
      // RLIMIT_NPROC
      [table.prlimit, 0, 6, Array(2).fill(BigInt(GUEST_THREADS_MAX)), 0],
      [table.capset, header, Array(6).fill(0)],
      [table.capget, header, Array(6).fill(0xffff_ffff)],
    ]);
  }
});

test("a guest of root takes a user of its own, or the one of a namespace without such users", () => {
  const { kernel, users } = notingKernel(41);
  dropPrivileges(kernel, table);
  expect(users).toEqual([USERS_START + process.pid]);
  const tried: number[] = [];
  const inNamespace = notingKernel(41, {
    setUser: (user) => tried.push(user) > 0 && user === OVERFLOW_USER,
  });
  dropPrivileges(inNamespace.kernel, table);
  expect(tried).toEqual([USERS_START + process.pid, OVERFLOW_USER]);
  expect(inNamespace.calls.some(([number]) => number === table.prlimit)).toBe(false);
});

test("a guest keeps its user without the rights to change it, and to signal it afterwards", () => {
  const all = (1 << CAP_KILL) | (1 << CAP_SETGID) | (1 << CAP_SETUID);
  for (const [word, changes] of [
    [all, 1],
    [all & ~(1 << CAP_KILL), 0],
    [all & ~(1 << CAP_SETGID), 0],
    [all & ~(1 << CAP_SETUID), 0],
    [0, 0],
  ] as const) {
    const { kernel, users } = rootKernel({}, word);
    dropPrivileges(kernel, table);
    expect([word, users.length]).toEqual([word, changes]);
  }
});

test("a guest that keeps any capability is not confined", () => {
  for (const kept of Array(6).keys()) {
    const { kernel } = rootKernel({
      syscall(number, _, sets) {
        if (number === table.capget) (sets as Uint32Array).fill(0)[kept] = 1;
        return { value: 0, errno: 0 };
      },
    });
    expect(() => dropPrivileges(kernel, table)).toThrow(
      new ConfinementError("a guest keeps capabilities"),
    );
  }
});
