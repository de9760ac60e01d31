/** Files of the container image besides the executable: only those that the executable needs. */
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { temporaryDirectory } from "../../disk/temporary-directory.ts";
import type { PackedEntry } from "../archive.ts";
import { debianNames, output, type Product, textFile } from "../product.ts";
import { fetchBasePackages } from "./base-packages.ts";

/** User id and group id of the server in the image. The Kubernetes manifest has the same ids. */
export const USER_ID = 10_001;

/**
 * Pattern of the paths that the image takes from the Debian packages: libraries that the
 * executable, lmdb's addon and name resolution need, licences, and the shell.
 */
const NEEDED =
  /\/(ld-linux-[\w-]+|lib(c|m|dl|pthread|rt|resolv|nss_dns|nss_files|gcc_s|stdc\+\+))\.so[.\d]*$|^usr\/share\/doc\/[^/]+\/copyright$|^bin\/dash$/;

/** Returns the image's first layer: libraries, system files, the shell that starts user code. */
export function baseLayer(architecture: Product["architecture"]): PackedEntry[] {
  using extracted = temporaryDirectory(join(tmpdir(), "pixelmill-base-"));
  const { path: directory } = extracted;
  for (const path of fetchBasePackages(debianNames[architecture])) {
    output(["dpkg-deb", "--extract", path, directory]);
  }
  const paths = [...new Bun.Glob("**").scanSync({ cwd: directory, dot: true, onlyFiles: false })];
  const files = paths
    .filter((path) => NEEDED.test(path) && !lstatSync(join(directory, path)).isDirectory())
    .map((path) => entryOf(directory, path));
  return [...files, ...systemFiles];
}

function entryOf(directory: string, path: string): PackedEntry {
  const file = join(directory, path);
  const stat = lstatSync(file);
  if (stat.isSymbolicLink()) return { path, link: readlinkSync(file) };
  return { path, mode: stat.mode & 0o777, content: new Uint8Array(readFileSync(file)) };
}

/** Files of the container image's first layer that come from no Debian package. */
export const systemFiles: PackedEntry[] = [
  { path: "bin/sh", link: "dash" },
  textFile(
    "etc/passwd",
    `root:x:0:0::/:/bin/sh\npixelmill:x:${USER_ID}:${USER_ID}::/data:/bin/sh\n`,
  ),
  textFile("etc/group", `root:x:0:\npixelmill:x:${USER_ID}:\n`),
  textFile("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  { path: "tmp", mode: 0o1777, directory: true },
  // A new volume gets this owner and mode.
  { path: "data", mode: 0o700, uid: USER_ID, gid: USER_ID, directory: true },
];
