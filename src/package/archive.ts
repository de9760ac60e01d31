import { packTar, type TarEntry } from "modern-tar";
import type { PackedFile } from "./product.ts";

export interface Owner {
  uid: number;
  gid: number;
}

/** Entry of an archive: a directory, a symbolic link or a file. */
export type PackedEntry =
  | (PackedFile & Partial<Owner>)
  | ({ path: string; mode: number; directory: true } & Partial<Owner>)
  | { path: string; link: string };

/**
 * Returns a tar archive. Its entries are sorted, have the time `time`, and belong to root unless an
 * entry names another owner. Parent directories without an entry are added with mode 755.
 */
export async function tarOf(
  entries: PackedEntry[],
  time: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const all = new Map<string, PackedEntry>();
  for (const { path } of entries) {
    const parts = path.split("/").slice(0, -1);
    for (let end = 1; end <= parts.length; end++) {
      const parent = parts.slice(0, end).join("/");
      all.set(parent, { path: parent, mode: 0o755, directory: true });
    }
  }
  for (const entry of entries) all.set(entry.path, entry);
  const sorted = [...all.keys()].sort().map((path) => all.get(path)!);
  const mtime = new Date(time * 1000);
  const packed = await packTar(sorted.map((entry) => tarEntry(entry, mtime)));
  return packed as Uint8Array<ArrayBuffer>;
}

function tarEntry(entry: PackedEntry, mtime: Date): TarEntry {
  const root = { uid: 0, gid: 0, uname: "", gname: "", mtime, size: 0 };
  if ("link" in entry) {
    const { path: name, link: linkname } = entry;
    return { header: { ...root, name, type: "symlink", linkname, mode: 0o777 } };
  }
  const { path, mode, uid = 0, gid = 0 } = entry;
  const header = { ...root, mode, uid, gid };
  if ("directory" in entry) return { header: { ...header, name: `${path}/`, type: "directory" } };
  const body =
    typeof entry.content === "string" ? new TextEncoder().encode(entry.content) : entry.content;
  return { header: { ...header, name: path, size: body.length, type: "file" }, body };
}
