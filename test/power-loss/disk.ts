import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { waitFor } from "../e2e/server.ts";

export const fileSystems = ["ext4", "xfs", "btrfs"] as const;
export type FileSystem = (typeof fileSystems)[number];

export const DISK_BYTES = 640 << 20;

/** Commands that create a file system with few writes and without discards. */
const make: Record<FileSystem, string[]> = {
  ext4: ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"],
  xfs: ["mkfs.xfs", "-q", "-K"],
  btrfs: ["mkfs.btrfs", "-q", "-K", "-m", "single"],
};

/** Returns the reason why this machine cannot simulate a power loss; undefined if it can. */
export function lacks(fileSystem: FileSystem): string | undefined {
  if (process.getuid?.() !== 0) return "it needs root, to mount";
  if (!existsSync("/dev/fuse")) return "it needs /dev/fuse";
  if (!existsSync("/dev/loop-control")) return "it needs loop devices";
  const tools = ["cc", "pkg-config", "losetup", "fusermount3", make[fileSystem][0]!];
  const missing = tools.filter((tool) => Bun.which(tool) === null);
  if (missing.length > 0) return `it needs ${missing.join(", ")}`;
  const { exitCode } = Bun.spawnSync(["pkg-config", "--exists", "fuse3"]);
  return exitCode === 0 ? undefined : "it needs libfuse3's headers";
}

/** Mounted file system whose disk records every write and flush. */
export interface RecordedDisk {
  mountPoint: string;
  journal: string;
  /** Number of records before the mount: earlier states contain no file system. */
  mounted: number;
  /** Number of records until now; a response before this call depends only on these records. */
  position(): number;
  close(): Promise<void>;
}

export async function openRecordedDisk(
  directory: string,
  fileSystem: FileSystem,
): Promise<RecordedDisk> {
  const at = (name: string) => join(directory, name);
  const [recorder, fuse, mountPoint] = [at("recorder"), at("fuse"), at("mount")];
  for (const path of [fuse, mountPoint]) mkdirSync(path);
  const flags = (await $`pkg-config fuse3 --cflags --libs`.text()).trim().split(/\s+/);
  await $`cc -O2 -o ${recorder} ${join(import.meta.dir, "recorder.c")} ${flags}`.quiet();

  const words = [fuse, at("backing"), String(DISK_BYTES), at("journal"), at("counter"), "1500"];
  const process = Bun.spawn([recorder, ...words], { stdout: "inherit", stderr: "inherit" });
  await waitFor(() => existsSync(join(fuse, "disk")), "the recorder's disk");
  const device = (await $`losetup -f --show ${join(fuse, "disk")}`.text()).trim();
  await $`${make[fileSystem]} ${device}`.quiet();
  await $`mount ${device} ${mountPoint}`;
  const counter = new BigUint64Array(Bun.mmap(at("counter"), { shared: true }).buffer, 0, 1);
  const position = () => Number(Atomics.load(counter, 0));
  return {
    mountPoint,
    journal: at("journal"),
    mounted: position(),
    position,
    async close() {
      await unmount(mountPoint, device);
      await $`fusermount3 -u ${fuse}`.nothrow().quiet();
      process.kill();
      await process.exited;
    },
  };
}

/** Mounts an image while `use` runs; returns the reason if the mount fails. */
export async function withImage<T>(
  image: string,
  mountPoint: string,
  use: () => Promise<T>,
): Promise<T> {
  const device = (await $`losetup -f --show ${image}`.text()).trim();
  try {
    await $`mount ${device} ${mountPoint}`.quiet();
    return await use();
  } finally {
    await unmount(mountPoint, device);
  }
}

/** Unmounts with retries: killed processes hold the mount for a moment. */
async function unmount(mountPoint: string, device: string): Promise<void> {
  await waitFor(async () => {
    const { exitCode, stderr } = await $`umount ${mountPoint}`.nothrow().quiet();
    return exitCode === 0 || /not mounted/.test(stderr.toString());
  }, `${mountPoint} to be unmounted`);
  await $`losetup -d ${device}`.nothrow().quiet();
}
