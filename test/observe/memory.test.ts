import { expect, onTestFinished, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { usableMemory } from "../../src/observe/memory.ts";

const [MIB, NO_LIMIT_1] = [2 ** 20, 9_223_372_036_854_771_712n];

/** The memory of a process whose root directory has these files. */
function memoryWith(files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "memory-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return usableMemory(root);
}

test.each<[title: string, files: Record<string, string>]>([
  [
    "a container's group of version 2",
    {
      "proc/self/cgroup": "0::/\n",
      "sys/fs/cgroup/memory.max": `${512 * MIB}\n`,
      "sys/fs/cgroup/memory.high": "max\n",
      "sys/fs/cgroup/memory.current": `${200 * MIB}\n`,
      "sys/fs/cgroup/memory.stat": `anon 7\ninactive_file ${88 * MIB}\nactive_file 9\n`,
    },
  ],
  [
    "a parent of a service's group of version 2",
    {
      "proc/self/cgroup": "0::/a.slice/b:c.service\n",
      "sys/fs/cgroup/a.slice/memory.max": "max\n",
      "sys/fs/cgroup/a.slice/memory.high": `${512 * MIB}\n`,
      "sys/fs/cgroup/a.slice/memory.current": `${112 * MIB}\n`,
      "sys/fs/cgroup/a.slice/b:c.service/memory.max": "max\n",
    },
  ],
  [
    "a group of version 1 that the container sees at the top",
    {
      "proc/self/cgroup": "12:cpu,memory:/docker/1234\n1:name=systemd:/docker/1234\n0::/x\n",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": `${512 * MIB}\n`,
      "sys/fs/cgroup/memory/memory.usage_in_bytes": `${200 * MIB}\n`,
      "sys/fs/cgroup/memory/memory.stat": `inactive_file 1\ntotal_inactive_file ${88 * MIB}\n`,
    },
  ],
])("usable memory is bounded by %s", (_, files) => {
  expect(memoryWith(files)).toEqual({ totalBytes: 512 * MIB, freeBytes: 400 * MIB });
});

test.each<[title: string, files: Record<string, string>]>([
  ["no control groups", {}],
  [
    "groups without a limit",
    {
      "proc/self/cgroup": "4:memory:/a\n0::/\n",
      "sys/fs/cgroup/memory/a/memory.limit_in_bytes": `${NO_LIMIT_1}\n`,
      "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "1\n",
      "sys/fs/cgroup/memory.max": "max\n",
    },
  ],
])("usable memory is the machine's with %s", (_, files) => {
  const { totalBytes, freeBytes } = memoryWith(files);
  expect(totalBytes).toBe(totalmem());
  expect(freeBytes).toBeWithin(1, totalBytes);
});

test("a group that uses more than its limit has no free memory", () => {
  const memory = memoryWith({
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/memory.max": `${MIB}\n`,
    "sys/fs/cgroup/memory.current": `${2 * MIB}\n`,
  });
  expect(memory).toEqual({ totalBytes: MIB, freeBytes: 0 });
});
