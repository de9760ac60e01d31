/**
 * Makes the packages: `npm run package [-- --architecture x64] [--kind deb] [--directory
 * DIRECTORY]`. For each processor it writes a Debian package, an archive, and an image (as a
 * directory and as an archive). It then writes a bill of materials and SHA256SUMS. All builds of
 * one commit write identical files.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { temporaryDirectory } from "../disk/temporary-directory.ts";
import { version } from "../version.ts";
import { tarOf } from "./archive.ts";
import { debianPackage, debianVersion } from "./debian.ts";
import { imageLayout } from "./image/image.ts";
import { baseLayer } from "./image/root.ts";
import {
  type Architecture,
  debianNames,
  output,
  type PackedFile,
  type Product,
  packageTime,
  ROOT,
} from "./product.ts";
import { billOfMaterials, productionModules } from "./sbom.ts";
import { tarball } from "./tarball.ts";

const ARCHITECTURES: Architecture[] = ["x64", "arm64"];
const KINDS = ["deb", "tarball", "image"] as const;
type Kind = (typeof KINDS)[number];

const { values } = parseArgs({
  options: {
    architecture: { type: "string", multiple: true, default: ARCHITECTURES },
    kind: { type: "string", multiple: true, default: [...KINDS] },
    directory: { type: "string", default: join(ROOT, "dist/packages") },
  },
});
const architectures = chosen("architecture", values.architecture, ARCHITECTURES);
const kinds = chosen("kind", values.kind, KINDS);
const directory = resolve(values.directory);

function chosen<T extends string>(name: string, given: string[], known: readonly T[]): T[] {
  const wrong = given.find((it) => !known.includes(it as T));
  if (wrong === undefined) return given as T[];
  throw new Error(`Expected --${name} to be one of ${known.join(", ")}, got ${wrong}`);
}

/**
 * Names of the written files, for the list SHA256SUMS. The blobs of an image are not in it, because
 * their names are their hashes.
 */
const written: string[] = [];

function write(name: string, content: PackedFile["content"]): void {
  writeFileSync(join(directory, name), content);
  written.push(name);
}

const makers: Record<Kind, (product: Product) => Promise<void>> = {
  async deb(product) {
    const name = `pixelmill_${debianVersion(version)}_${debianNames[product.architecture]}.deb`;
    await debianPackage(product, join(directory, name));
    written.push(name);
  },
  async tarball(product) {
    write(`pixelmill-${version}-linux-${product.architecture}.tar.gz`, await tarball(product));
  },
  async image(product) {
    const name = `pixelmill-${version}-oci-${debianNames[product.architecture]}`;
    const revision = output(["git", "rev-parse", "HEAD"]).trim();
    const layout = await imageLayout(product, baseLayer(product.architecture), revision);
    rmSync(join(directory, name), { recursive: true, force: true });
    mkdirSync(join(directory, name, "blobs/sha256"), { recursive: true });
    for (const { path, content } of layout) writeFileSync(join(directory, name, path), content);
    write(`${name}.tar`, await tarOf(layout, product.time));
  },
};

/**
 * Builds the executable for a processor. The file has the same name for every processor, because
 * the build writes the file name into the executable.
 */
function executable(architecture: Architecture): Uint8Array<ArrayBuffer> {
  using stage = temporaryDirectory(join(tmpdir(), "pixelmill-package-"));
  const path = join(stage.path, "pixelmill");
  const target = `bun-linux-${architecture}`;
  output([process.execPath, join(ROOT, "src/build.ts"), target, "--outfile", path]);
  return new Uint8Array(readFileSync(path));
}

const time = packageTime();
mkdirSync(directory, { recursive: true });
for (const architecture of architectures) {
  const product = { version, architecture, time, executable: executable(architecture) };
  for (const kind of kinds) await makers[kind](product);
}
write(`pixelmill-${version}.cdx.json`, billOfMaterials(productionModules(), time));
const sums = written
  .sort()
  .map((name) => `${output(["sha256sum", join(directory, name)]).split(" ")[0]}  ${name}\n`);
writeFileSync(join(directory, "SHA256SUMS"), sums.join(""));
process.stdout.write(sums.join(""));
process.stdout.write(
  `in ${relative(".", directory) || "."}, of ${new Date(time * 1000).toISOString()}\n`,
);
