import { expect, test } from "bun:test";
import { unpackTar } from "modern-tar";
import { type PackedEntry, tarOf } from "../../src/package/archive.ts";

const TIME = 1_700_000_000;

/** Header fields of an archive's entries by name, with the text of files. */
async function unpacked(entries: PackedEntry[]) {
  const all = await unpackTar(await tarOf(entries, TIME));
  return all.map(({ header, data }) => {
    const { name, type, mode, uid, gid, linkname, mtime } = header;
    const text = data && data.length > 0 ? Buffer.from(data).toString() : undefined;
    const time = mtime!.getTime() / 1_000;
    return {
      name,
      type,
      mode,
      uid,
      gid,
      time,
      ...(linkname && { linkname }),
      ...(text && { text }),
    };
  });
}

const common = { uid: 0, gid: 0, time: TIME };

test("an archive has files, links and directories with their modes and owners, sorted", async () => {
  const owner = { uid: 10_001, gid: 10_002 };
  const found = await unpacked([
    { path: "usr/bin/tool", mode: 0o755, content: new Uint8Array([0x61, 0x62]) },
    { path: "data", mode: 0o700, directory: true, ...owner },
    { path: "usr/bin/sh", link: "dash" },
    { path: "data/own", mode: 0o640, content: "é", ...owner },
  ]);
  expect(found).toEqual([
    { ...common, ...owner, name: "data/", type: "directory", mode: 0o700 },
    { ...common, ...owner, name: "data/own", type: "file", mode: 0o640, text: "é" },
    { ...common, name: "usr/", type: "directory", mode: 0o755 },
    { ...common, name: "usr/bin/", type: "directory", mode: 0o755 },
    { ...common, name: "usr/bin/sh", type: "symlink", mode: 0o777, linkname: "dash" },
    { ...common, name: "usr/bin/tool", type: "file", mode: 0o755, text: "ab" },
  ]);
});

test("archives of the same entries are equal, in any order", async () => {
  const entries: PackedEntry[] = ["b", "a/c", "a/b"].map((path) => {
    return { path, mode: 0o644, content: path };
  });
  expect(await tarOf(entries, TIME)).toEqual(await tarOf(entries.toReversed(), TIME));
});
