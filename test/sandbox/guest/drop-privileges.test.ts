import { expect, test } from "bun:test";
import { dropPrivileges } from "../../../src/sandbox/guest/confinement/drop-privileges.ts";
import { ConfinementError, type Kernel } from "../../../src/sandbox/guest/confinement/kernel.ts";
import { syscallTable } from "../../../src/sandbox/guest/confinement/syscall-table.ts";

const table = syscallTable("x64")!;

/** A kernel on which root may do all but what is said, and loses its capabilities when it asks. */
function rootKernel(refused: Partial<Kernel>) {
  const users: number[] = [];
  let word = 0xffff_ffff;
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
