import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { checkDisk, fileSystemOf } from "../../src/check/disk.ts";
import { checkPorts, checkSystem } from "../../src/check/machine.ts";
import { formatFile, prepareDataDirectory } from "../../src/first-start/data-directory.ts";
import type { Config } from "../../src/settings/keys.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const directory = temporaryDirectory();
afterAll(() => removeDirectory(directory));
const configOf = (data: string) => ({ data, "cluster.kafka": [] as string[] }) as Config;

/** Results of the checks of a data directory, by what was checked. */
async function diskResults(data: string) {
  const results = await Array.fromAsync(checkDisk(configOf(data)));
  return Object.fromEntries(results.map(({ subject, ...result }) => [subject, result]));
}

describe("the check of the disk", () => {
  test("of a directory that does not exist leaves nothing", async () => {
    const data = join(directory, "new");
    const found = await diskResults(data);
    expect(Object.keys(found)).toEqual(["data", "disk space", "disk speed", "store"]);
    expect(found.data).toEqual({ state: "ok", detail: `${data} would be made` });
    expect(found.store).toEqual({ state: "ok", detail: "LMDB can be loaded" });
    expect(existsSync(data)).toBe(false);
  });

  test("of a directory in directories that do not exist leaves nothing", async () => {
    const data = join(directory, "new/er/est");
    const found = await diskResults(data);
    expect(found.data).toEqual({ state: "ok", detail: `${data} would be made` });
    expect(existsSync(join(directory, "new"))).toBe(false);
  });

  test("tells whether the directory has data that this version reads", async () => {
    const data = join(directory, "used");
    mkdirSync(data);
    expect((await diskResults(data)).data).toEqual({
      ...{ state: "ok", detail: `${data} has no data of pixelmill yet` },
    });
    prepareDataDirectory(configOf(data));
    const before = readdirSync(data).sort();
    expect((await diskResults(data)).data).toEqual({
      ...{ state: "ok", detail: `${data} is a data directory of this version` },
    });
    expect(readdirSync(data).sort()).toEqual(before);
    writeFileSync(formatFile(configOf(data)), "999");
    expect((await diskResults(data)).data!.state).toBe("fails");
  });

  test("fails for a store that is torn, as a start does", async () => {
    const data = join(directory, "torn");
    mkdirSync(join(data, "catalog"), { recursive: true });
    prepareDataDirectory(configOf(data));
    writeFileSync(join(data, "catalog/catalog.mdb"), Buffer.alloc(8_192));
    const { state, detail } = (await diskResults(data)).data!;
    expect(state).toBe("fails");
    expect(detail).toContain("catalog.mdb to be whole, but");
  });

  test("fails alone where the directory cannot be used", async () => {
    writeFileSync(join(directory, "file"), "");
    const data = join(directory, "file/x");
    expect(await diskResults(data)).toEqual({
      data: { state: "fails", detail: expect.stringContaining(`Cannot use ${data}: `) },
    });
  });

  test("measures free space with the file system, and the time of durable writes", async () => {
    const data = join(directory, "measured");
    mkdirSync(data);
    const found = await diskResults(data);
    const { stdout } = Bun.spawnSync(["df", "--output=avail,fstype", "-B1", data]);
    const [, available, type] = /(\d+) +(\S+)\n$/.exec(stdout.toString())!;
    const [, shown, of] = /^([\d.]+) GiB free, (\S+?)(?:;|$)/.exec(found["disk space"]!.detail)!;
    expect(Math.abs(Number(shown) - Number(available) / 2 ** 30)).toBeLessThan(1);
    expect(of).toBe(type!);
    expect(found["disk speed"]!.detail).toMatch(
      /^a durable write takes \d+\.\d\d ms, 1 % take \d+\.\d ms or more/,
    );
    expect(readdirSync(data)).toEqual([]);
  });
});

test.each([
  ["/", "ext4"],
  ["/srv/data", "ext4"],
  ["/mnt", "xfs"],
  ["/mnt/a", "xfs"],
  ["/mnt/data", "btrfs"],
  ["/mnt/data/x", "btrfs"],
  ["/mnt/data2", "xfs"],
])("the file system of %s is that of the longest mount point above it, %s", (path, type) => {
  const mounts = "/dev/b /mnt/data btrfs rw 0 0\n/dev/r / ext4 rw 0 0\n/dev/a /mnt xfs rw 0 0\n";
  expect(fileSystemOf(path, mounts)).toBe(type);
});

test("the file system of a path is the last of several at one mount point, as with automounts", () => {
  const mounts = "/dev/r / ext4 rw 0 0\nauto /mnt autofs rw 0 0\n/dev/a /mnt xfs rw 0 0\n";
  expect(fileSystemOf("/mnt/data", mounts)).toBe("xfs");
});

test("a mount point has the kernel's escapes of spaces", () => {
  const mounts = "/dev/r / ext4 rw 0 0\n/dev/a /mnt/a\\040b\\134 xfs rw 0 0\n";
  expect(fileSystemOf("/mnt/a b\\/data", mounts)).toBe("xfs");
});

test("a path that no mount point contains has an unknown file system, as in a chroot", () => {
  expect(fileSystemOf("/data", "/dev/a /mnt xfs rw 0 0\n")).toBe("an unknown file system");
  expect(fileSystemOf("/data", "")).toBe("an unknown file system");
});

describe("the check of the system", () => {
  test("shows the machine, its memory and how many files may be open", () => {
    const [system, memory, files, ...others] = [...checkSystem()];
    expect(others).toEqual([]);
    expect(system).toMatchObject({ state: "ok", subject: "system" });
    expect(system!.detail).toStartWith("linux ");
    expect(system!.detail).toEndWith(`on ${process.arch}, ${availableParallelism()} CPUs`);
    const kib = Number(/^MemTotal: +(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))![1]);
    const [, mib, hint] = /^(\d+) MiB(; user code in both languages needs 1 GiB)?$/.exec(
      memory!.detail,
    )!;
    expect(Number(mib)).toBeLessThanOrEqual(Math.round(kib / 1_024));
    expect(Number(mib)).toBeGreaterThan(64);
    expect(hint === undefined).toBe(Number(mib) >= 1_024);
    expect(memory!.state).toBe(hint === undefined ? "ok" : "warns");
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))!;
    expect(files!.detail).toStartWith(`${soft} allowed`);
    const wanted = /; (\d+) let all connections in/.exec(files!.detail)?.[1];
    expect(files!.state).toBe(wanted === undefined ? "ok" : "warns");
    if (wanted !== undefined) expect(Number(wanted)).toBeGreaterThan(Number(soft));
  });

  test("tells whether a port is free, taken, of another machine, or of another listener", () => {
    const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const config = {
      ...{ host: "127.0.0.1", port: 0, "admin.host": "127.0.0.1", "admin.port": taken.port },
      ...{ "transformer.host": "203.0.113.9", "transformer.port": 0 },
    } as Config;
    const results = [...checkPorts(config)];
    taken.stop(true);
    expect(results.map(({ subject, state }) => [subject, state])).toEqual([
      ["data plane", "ok"],
      ["control plane", "warns"],
      ["transformer listener", "fails"],
    ]);
    expect(results[0]!.detail).toBe("127.0.0.1 port 0 is free");
    const { port } = taken;
    const same = { ...config, port, "transformer.host": "127.0.0.1", "transformer.port": port };
    expect([...checkPorts(same)].map(({ detail }) => detail)).toEqual([
      `127.0.0.1 port ${port} is free`,
      `127.0.0.1 port ${port} is that of the data plane`,
      `127.0.0.1 port ${port} is that of the data plane`,
    ]);
    const covered = { ...config, host: "0.0.0.0", port, "transformer.host": "127.0.0.1" };
    expect([...checkPorts(covered)].map(({ detail }) => detail)).toEqual([
      `0.0.0.0 port ${port} is free`,
      `127.0.0.1 port ${port} is that of the data plane`,
      "127.0.0.1 port 0 is free",
    ]);
  });
});
