/**
 * Debian packages from which the container image takes its libraries and its shell. base.json lists
 * their versions and hashes. apt fetches the packages from the package sources of the build
 * machine, also for another processor. `bun src/package/image/base-packages.ts` writes the current
 * versions to base.json; run it when a mirror has dropped a version.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { temporaryDirectory } from "../../disk/temporary-directory.ts";
import { output, ROOT } from "../product.ts";
import base from "./base.json" with { type: "json" };

type DebianName = keyof typeof base;

export const basePackages: Readonly<Record<DebianName, readonly BasePackage[]>> = base;

const FETCHED = join(ROOT, "dist/foreign/debian");

/** Returns the paths of the base packages' files for a processor. Fetches missing files first. */
export const fetchBasePackages = (architecture: DebianName): string[] =>
  fetchPackages(base[architecture], architecture, FETCHED);

/** Returns the paths of the files of `packages` in `directory`. Fetches the missing files first. */
export function fetchPackages(
  packages: readonly BasePackage[],
  architecture: DebianName,
  directory: string,
): string[] {
  mkdirSync(directory, { recursive: true });
  const path = ({ name, sha256 }: BasePackage) =>
    join(directory, `${name}-${architecture}-${sha256}.deb`);
  const missing = packages.filter((it) => !existsSync(path(it)));
  if (missing.length > 0) {
    withApt(architecture, directory, (apt, downloads) => {
      for (const it of missing) {
        download(apt, downloads, it);
        const [file] = readdirSync(downloads);
        const found = join(downloads, file!);
        const hash = output(["sha256sum", found]).split(" ")[0]!;
        if (hash !== it.sha256) {
          throw new Error(
            `Expected ${it.name} ${it.version} with SHA-256 ${it.sha256}, got ${hash}`,
          );
        }
        renameSync(found, path(it));
      }
    });
  }
  return packages.map(path);
}

function download(apt: Apt, directory: string, { name, version }: BasePackage): void {
  try {
    apt(["download", `${name}=${version}`], directory);
  } catch (error) {
    throw new Error(
      `Expected the machine's apt sources to have ${name} ${version}; write the current versions into base.json with: bun src/package/image/base-packages.ts`,
      { cause: error },
    );
  }
}

type Apt = (words: string[], cwd?: string) => string;

/**
 * Calls `use` with a function that runs apt-get for `architecture` only, and the path of an empty
 * directory below `place` for downloads. Deletes the directory afterwards. Throws if the machine
 * has no apt-get.
 */
function withApt(
  architecture: DebianName,
  place: string,
  use: (apt: Apt, downloads: string) => void,
): void {
  const program = Bun.which("apt-get");
  if (program === null) {
    throw new Error(
      "Expected apt-get, which fetches the image's libraries: build the image on Debian",
    );
  }
  using directory = temporaryDirectory(join(place, "apt-"));
  const { path: state } = directory;
  const directories = ["lists/partial", "cache/archives/partial", "downloads"];
  for (const name of directories) mkdirSync(join(state, name), { recursive: true });
  writeFileSync(join(state, "status"), "");
  const options = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures::=${architecture}`,
    `Dir::State=${state}`,
    `Dir::State::status=${join(state, "status")}`,
    `Dir::Cache=${join(state, "cache")}`,
    "Acquire::Languages=none",
    // The directories belong to the user who runs the build.
    "APT::Sandbox::User=",
  ].flatMap((option) => ["-o", option]);
  const apt: Apt = (words, cwd = state) => output([program, "-qq", ...options, ...words], { cwd });
  apt(["update"]);
  use(apt, join(state, "downloads"));
}

/** Updates base.json to the versions of the base packages that the machine's apt sources offer. */
function updateBase(): void {
  const names = base.amd64.map(({ name }) => name);
  const now = Object.fromEntries(
    (["amd64", "arm64"] as const).map((architecture) => {
      let found: BasePackage[] = [];
      withApt(architecture, tmpdir(), (apt) => {
        found = packagesIn(apt(["download", "--print-uris", ...names]));
      });
      return [architecture, found];
    }),
  );
  writeFileSync(join(import.meta.dir, "base.json"), `${JSON.stringify(now, null, 2)}\n`);
}

if (import.meta.main) updateBase();

/** Version of a Debian package, and the hash of its file. */
export interface BasePackage {
  name: string;
  version: string;
  sha256: string;
}

/** Parses the output of `apt-get download --print-uris`, which has one package on each line. */
export function packagesIn(uris: string): BasePackage[] {
  const lines = uris.trim().split("\n");
  return lines.map((line) => {
    const [, name, version, sha256] = line.match(/ (\S+?)_(\S+)_\w+\.deb \d+ SHA256:(\w+)$/)!;
    return { name: name!, version: decodeURIComponent(version!), sha256: sha256! };
  });
}
