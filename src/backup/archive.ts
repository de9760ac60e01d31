import {
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import { packTar, type TarSource, unpackTar } from "modern-tar/fs";
import { syncPath } from "../disk/sync.ts";
import { StartError } from "../errors.ts";
import type { ArchiveSource } from "./archive-source.ts";

/**
 * Pattern of the names of the entries in a backup, a tar archive compressed with Zstandard.
 * `refused` has the sequence numbers of records that a log did not accept. `manifest`, the last
 * entry, lists all files: a truncated archive lacks it.
 */
const ENTRY =
  /^(format|manifest|catalog\/catalog\.mdb|delivery\/data\.mdb|events\/\d+\/(\d{16}\.segment|refused))$/;
const MANIFEST = "manifest";
const LOG_FILE = /^(\d{16}\.segment|refused)$/;

type Entry = Extract<TarSource, { type: "stream" | "content" }> & { target: string; size: number };

/**
 * Returns the archive entries of an event log's directory: one for each file, with the file's
 * current length.
 */
export function logEntries(directory: string, name: string): Entry[] {
  return readdirSync(directory)
    .filter((file) => LOG_FILE.test(file))
    .sort()
    .map((file) => fileEntry(join(directory, file), `events/${name}/${file}`));
}

/**
 * Returns the archive entry of a file with its current length. Bytes that are appended to the file
 * later, for example to a log's newest segment, are left out.
 */
export function fileEntry(source: string, target: string): Entry {
  const { size } = statSync(source);
  // The newest segment is empty between the start of a server and its first pixel.
  if (size === 0) return { type: "content", target, size, mode: 0o600, content: "" };
  // The file is opened only when it is read, because there may be more segments than a process may
  // have open files.
  const bytes = async function* () {
    yield* createReadStream(source, { end: size - 1 });
  };
  return { type: "stream", target, size, mode: 0o600, content: Readable.from(bytes()) };
}

/** Writes an archive of these entries. The archive is durable when the promise resolves. */
export async function pack(path: string, entries: readonly Entry[]): Promise<void> {
  const file = createWriteStream(path, { mode: 0o600, flags: "wx" });
  const content = JSON.stringify(entries.map(({ target, size }) => ({ target, size })));
  const tar = packTar([...entries, { type: "content", target: MANIFEST, content, mode: 0o600 }]);
  const params = { [constants.ZSTD_c_checksumFlag]: 1 };
  await pipeline(tar, createZstdCompress({ params }), file);
  syncPath(path);
}

/**
 * Unpacks a backup into a directory. Throws `StartError` when it is not a backup of
 * pixelmill, or is not complete.
 */
export async function unpack(
  { name, read }: Pick<ArchiveSource, "name" | "read">,
  directory: string,
): Promise<void> {
  const unknown: string[] = [];
  const target = unpackTar(directory, {
    fmode: 0o600,
    dmode: 0o700,
    filter(entry) {
      const isOurs = entry.type === "file" && ENTRY.test(entry.name);
      if (!isOurs && entry.type !== "directory") unknown.push(entry.name);
      return isOurs;
    },
  });
  try {
    await pipeline(read(), createZstdDecompress(), target);
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`Cannot read ${name} as a backup: ${(error as Error).message}`);
  }
  if (unknown.length > 0) {
    throw new StartError(`Expected a backup of pixelmill, got an archive with ${unknown[0]}`);
  }
  const missing = faultIn(directory);
  if (missing !== undefined) throw new StartError(`The backup ${name} is incomplete: ${missing}`);
  for (const file of readdirSync(directory, { recursive: true }) as string[]) {
    syncPath(join(directory, file));
  }
  syncPath(directory);
}

/**
 * Checks that all files in the manifest were unpacked with the right size, and removes the
 * manifest. Returns what is wrong, as part of a sentence, or undefined if nothing is wrong.
 */
function faultIn(directory: string): string | undefined {
  const manifest = join(directory, MANIFEST);
  if (!existsSync(manifest)) return "it ends too early";
  const entries: { target: string; size: number }[] = JSON.parse(readFileSync(manifest, "utf8"));
  const missing = entries.find(({ target, size }) => {
    const path = join(directory, target);
    return !existsSync(path) || statSync(path).size !== size;
  });
  rmSync(manifest);
  return missing && `${missing.target} is missing or has another size`;
}
