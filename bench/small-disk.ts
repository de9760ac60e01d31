import {
  closeSync,
  mkdirSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const IMAGE_BYTES = 512 << 20;
const CHUNKS_BYTES = [1 << 20, 4_096];

/** Small file system for a data directory, which a bench can fill. Needs root on Linux. */
export class SmallDisk {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
    // Unmounts at exit, also when the bench fails: until then processes may still use it.
    process.on("exit", () => this.unmount());
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  }

  /** Mounts one on `data` in a directory. Throws the system's message. */
  static mount(directory: string): SmallDisk {
    const image = join(directory, "disk.img");
    const path = join(directory, "data");
    writeFileSync(image, "");
    truncateSync(image, IMAGE_BYTES);
    mkdirSync(path);
    run("mkfs.ext4", "-q", "-m", "0", image);
    run("mount", "-o", "loop", image, path);
    rmSync(join(path, "lost+found"), { recursive: true });
    return new SmallDisk(path);
  }

  fill(): void {
    const file = openSync(join(this.#path, "filler"), "w");
    for (const bytes of CHUNKS_BYTES) {
      try {
        const chunk = Buffer.alloc(bytes);
        while (writeSync(file, chunk) === bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
    closeSync(file);
  }

  empty(): void {
    rmSync(join(this.#path, "filler"), { force: true });
  }

  unmount(): void {
    Bun.spawnSync(["umount", "-l", this.#path]);
  }
}

function run(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command);
  if (!success) throw new Error(`${command[0]} failed: ${stderr}`);
}
