import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { packTar } from "modern-tar/fs";
import { unpack } from "../../src/backup/archive.ts";

const root = mkdtempSync(join(tmpdir(), "pixelmill-archive-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Unpacks an archive of the file `format` with one byte, and this manifest. */
async function unpacked(manifest: { target: string; size: number }[]): Promise<string[]> {
  const directory = mkdtempSync(join(root, "unpacked-"));
  const content = JSON.stringify(manifest);
  const tar = packTar([
    { type: "content", target: "format", content: "1", mode: 0o600 },
    { type: "content", target: "manifest", content, mode: 0o600 },
  ]);
  const bytes = zstdCompressSync(Buffer.concat(await Array.fromAsync(tar)));
  await unpack(
    {
      name: "b",
      read: async function* () {
        yield bytes;
      },
    },
    directory,
  );
  return readdirSync(directory);
}

test("a backup is complete when it has each file of its manifest in the same size", async () => {
  expect(await unpacked([{ target: "format", size: 1 }])).toEqual(["format"]);
  const lacks = "The backup b is incomplete: format is missing or has another size";
  await expect(unpacked([{ target: "format", size: 2 }])).rejects.toThrow(lacks);
  const data = { target: "catalog/catalog.mdb", size: 0 };
  await expect(unpacked([data])).rejects.toThrow("catalog/catalog.mdb is missing");
});
