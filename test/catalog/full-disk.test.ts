import { expect, test } from "bun:test";
import { freshCatalog, freshDirectory } from "./_setup.ts";
import { contradictions } from "./consistency.ts";

/** 8 MB of file in blocks of 1,024 bytes: beyond it a write fails as it does on a full disk. */
const FILE_BLOCKS_MAX = 8_000;

test("a full disk refuses changes without an unhandled rejection", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const script = `${import.meta.dir}/children/filler.ts`;
  const limited = `trap "" XFSZ; ulimit -f ${FILE_BLOCKS_MAX}; exec "$@"`;
  const filler = Bun.spawn(
    ["bash", "-c", limited, "bash", process.execPath, script, directory, workspaceId],
    { stdout: "pipe", stderr: "pipe" },
  );
  const stderr = new Response(filler.stderr).text();
  const lines = (await new Response(filler.stdout).text()).split("\n");
  const exit = await filler.exited;
  if (exit !== 0) throw new Error(`The filler ended with ${exit}: ${await stderr}`);

  const stored = lines.slice(0, -1);
  expect(stored.length).toBeGreaterThan(10);
  expect(lines.at(-1)).toBe(`${stored.length} listed`);
  for (const versionId of stored) {
    const { code } = catalog.code.revisionByVersion(workspaceId, "transformation", versionId);
    expect(code).toHaveLength(100_000);
  }
  expect(await contradictions(directory)).toEqual([]);
  expect((await catalog.sources.create(workspaceId, { name: "After" })).name).toBe("After");
}, 300_000);
