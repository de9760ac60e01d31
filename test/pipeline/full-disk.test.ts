import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const count = 700;
/** 8 MB in blocks of 1,024 bytes: beyond it a write fails as on a full disk. */
const blocks = 8_000;

test.skipIf(process.platform !== "linux").each([false, true])(
  "lanes wait while the disk is full, and go on once it has room (restarted meanwhile: %p)",
  async (restart) => {
    const directory = mkdtempSync(join(tmpdir(), "full-"));
    const limited = `trap "" XFSZ; ulimit -S -f ${blocks}; exec "$@"`;
    const script = join(import.meta.dir, "full-disk-child.ts");
    const child = Bun.spawn(
      [
        "bash",
        "-c",
        limited,
        "bash",
        process.execPath,
        script,
        directory,
        `${count}`,
        `${restart}`,
      ],
      { stdout: "pipe", stderr: "pipe" },
    );
    const errors = new Response(child.stderr).text();
    const text = await new Response(child.stdout).text();
    const exit = await child.exited;
    rmSync(directory, { recursive: true });
    if (exit !== 0) throw new Error(`The child ended with ${exit}: ${await errors}`);
    const { stored, letters } = JSON.parse(text);
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(count);
    expect(letters).toBe(count);
  },
  300_000,
);
