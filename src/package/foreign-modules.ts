/**
 * Packages that an executable for another processor needs: Bun, and the native addon of lmdb. This
 * file fetches them with the versions and hashes in package-lock.json, because npm installs them
 * only for the processor of its own machine.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../disk/temporary-directory.ts";
import { patchAddonFile } from "../store/lmdb/patch-addon.ts";
import { type Architecture, output, ROOT } from "./product.ts";

const FETCHED = join(ROOT, "dist/foreign");

const bunPackages: Record<Architecture, string> = {
  x64: "@oven/bun-linux-x64",
  arm64: "@oven/bun-linux-aarch64",
};

interface Lock {
  packages: Record<string, { version: string; integrity?: string } | undefined>;
}

/** Returns the paths of Bun and lmdb's addon for `architecture`. Fetches missing packages. */
export function foreignModules(architecture: Architecture) {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock;
  const directory = (name: string) => fetchModule(name, lock, FETCHED);
  const lmdb = join(directory(`@lmdb/lmdb-linux-${architecture}`), "node.napi.glibc.node");
  patchAddonFile(lmdb);
  return {
    /** Path of lmdb's native addon for the processor. */
    lmdb,
    /** Path of Bun's executable for the processor. */
    bun: join(directory(bunPackages[architecture]), "bin/bun"),
  };
}

/**
 * Returns the directory of a package in `place`, and fetches the package first if the directory is
 * missing. Throws if the fetched package's hash is not the one in `lock`. An interrupted fetch
 * leaves no directory with this name.
 */
export function fetchModule(name: string, lock: Lock, place: string): string {
  const locked = lock.packages[`node_modules/${name}`];
  if (locked?.integrity === undefined) {
    throw new Error(`Expected package-lock.json to have a version and a hash of ${name}`);
  }
  const directory = join(place, `${name}-${locked.version}`);
  if (existsSync(directory)) return directory;
  if (Bun.which("npm") === null) {
    throw new Error(`Expected npm, which fetches ${name}@${locked.version}; install Node.js`);
  }
  mkdirSync(join(directory, ".."), { recursive: true });
  using part = temporaryDirectory(`${directory}.part-`);
  unpack(`${name}@${locked.version}`, locked.integrity, part.path);
  // Another build may have created it meanwhile.
  if (!existsSync(directory)) renameSync(join(part.path, "package"), directory);
  return directory;
}

/** Fetches a package, checks its hash (throws if it differs), and unpacks it into `directory`. */
function unpack(specification: string, integrity: string, directory: string): void {
  output(["npm", "pack", "--silent", "--ignore-scripts", specification], { cwd: directory });
  const [archive] = new Bun.Glob("*.tgz").scanSync({ cwd: directory, absolute: true });
  if (archive === undefined) throw new Error(`npm pack ${specification} wrote no archive`);
  const hash = createHash("sha512").update(readFileSync(archive)).digest("base64");
  if (`sha512-${hash}` !== integrity) {
    throw new Error(
      `Expected ${specification} with the hash ${integrity} of package-lock.json, got sha512-${hash}`,
    );
  }
  output(["tar", "-xzf", archive], { cwd: directory });
}
