import { ptr } from "bun:ffi";
import { expect } from "bun:test";
import { openKernel } from "../../../src/sandbox/guest/confinement/kernel.ts";
import { syscallTable } from "../../../src/sandbox/guest/confinement/syscall-table.ts";
import { testWith } from "../../counterpart.ts";

const table = process.platform === "linux" ? syscallTable(process.arch) : undefined;
const onKnownKernel = testWith(table ? undefined : "needs Linux on x64 or arm64");

onKnownKernel("arguments of a system call that are left out are 0", () => {
  const { syscall } = openKernel();
  const { sigaltstack, prctl, mmap, munmap } = table!.allowed as Record<string, number>;
  expect(syscall(sigaltstack!)).toEqual({ value: 0, errno: 0 });
  // PR_GET_NO_NEW_PRIVS, which the kernel refuses with any other argument than 0.
  expect([0, 1]).toContain(syscall(prctl!, 39).value);
  expect(syscall(prctl!, 39, 0, 0, 1)).toEqual({ value: -1, errno: 22 });
  // The last argument is an offset, which must be that of a page.
  const { value: page } = syscall(mmap!, 0, 4_096, 3, 0x22, -1);
  expect(page).toBeGreaterThan(0);
  expect(syscall(munmap!, page, 4_096)).toEqual({ value: 0, errno: 0 });
});

onKnownKernel("a system call has its own result, and reads and writes the memory of views", () => {
  const kernel = openKernel();
  const { getpid, getrandom, close } = table!.allowed as Record<string, number>;
  expect(kernel.syscall(getpid!)).toEqual({ value: process.pid, errno: 0 });
  expect(kernel.syscall(close!, -1)).toEqual({ value: -1, errno: 9 });
  const view = new Uint8Array(64);
  expect(kernel.syscall(getrandom!, view, 64n)).toEqual({ value: 64, errno: 0 });
  expect(view.some((byte) => byte !== 0)).toBe(true);
  expect(kernel.address(view)).toBe(BigInt(ptr(view)));
});
