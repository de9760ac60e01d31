import { chmodSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { temporaryDirectory } from "../disk/temporary-directory.ts";
import {
  compressed,
  debianUnitFiles,
  licence,
  manualFiles,
  SETTINGS_FILE,
  settingsFile,
} from "./contents.ts";
import { debianNames, output, type PackedFile, type Product, ROOT, textFile } from "./product.ts";

const SCRIPTS = join(import.meta.dir, "debian");

/** Converts an npm version to a Debian version, in which 1.0.0~rc.1 sorts before 1.0.0. */
export const debianVersion = (version: string): string => version.replace("-", "~");

/**
 * Makes a Debian package at `path`, for Debian 12 and Ubuntu 22.04. The package is compressed with
 * zstd, which the dpkg of both can read, because xz takes twenty times as long.
 */
export async function debianPackage(product: Product, path: string): Promise<void> {
  if (Bun.which("dpkg-deb") === null) {
    throw new Error(
      "Expected dpkg-deb, which makes packages of Debian: install Debian's package dpkg",
    );
  }
  using directory = temporaryDirectory(join(tmpdir(), "pixelmill-deb-"));
  const { path: stage } = directory;
  const files = await installedFiles(product);
  for (const file of [...files, ...controlFiles(product, files)]) put(stage, file);
  setTimes(stage, product.time);
  mkdirSync(dirname(path), { recursive: true });
  const options = ["--root-owner-group", "-Zzstd", "-z3", "--threads-max=1"];
  const env = { SOURCE_DATE_EPOCH: String(product.time) };
  output(["dpkg-deb", ...options, "--build", stage, path], { env });
}

async function installedFiles(product: Product): Promise<PackedFile[]> {
  return [
    { path: "usr/bin/pixelmill", mode: 0o755, content: product.executable },
    textFile(SETTINGS_FILE, settingsFile()),
    ...(await debianUnitFiles()).map(([name, unit]) =>
      textFile(`lib/systemd/system/${name}`, unit),
    ),
    ...manualFiles({
      man: "usr/share/man/man1/pixelmill.1.gz",
      "completion bash": "usr/share/bash-completion/completions/pixelmill",
      "completion zsh": "usr/share/zsh/vendor-completions/_pixelmill",
      "completion fish": "usr/share/fish/vendor_completions.d/pixelmill.fish",
    }),
    textFile("usr/share/doc/pixelmill/copyright", copyright()),
    textFile(
      "usr/share/doc/pixelmill/CHANGELOG.md.gz",
      compressed(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), 9),
    ),
  ];
}

const copyright = () => `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pixelmill
Comment: The file pixelmill-VERSION.cdx.json beside the package lists the parts of the
 executable with their licences.

Files: *
${licence()
  .match(/^Copyright .*$/m)![0]
  .replace(" (c)", ":")}
License: MIT
${licence()
  .replace(/^.*?(?=Permission)/s, "")
  .trimEnd()
  .split("\n")
  .map((line) => ` ${line || "."}`)
  .join("\n")}
`;

function controlFiles(product: Product, files: PackedFile[]): PackedFile[] {
  const { version, architecture } = product;
  const kib = files.reduce((sum, { content }) => sum + Math.ceil(content.length / 1024), 0);
  const control = `Package: pixelmill
Version: ${debianVersion(version)}
Architecture: ${debianNames[architecture]}
Maintainer: pixelmill <pixelmill@localhost>
Installed-Size: ${kib}
Depends: libc6 (>= 2.34), libstdc++6 (>= 11), debconf (>= 0.5) | debconf-2.0, init-system-helpers (>= 1.52), passwd
Section: web
Priority: optional
Description: takes pixel events, runs user code over them, and delivers them
 pixelmill takes events from pixels and from the SDKs of RudderStack and
 Segment, answers 200 once they are on disk, runs JavaScript or Python over
 them in sandboxes, and delivers the results to every connected destination.
`;
  const sums = files
    .map(
      ({ path, content }) =>
        `${new Bun.CryptoHasher("md5").update(content).digest("hex")}  ${path}`,
    )
    .sort((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1));
  const script = (name: string): PackedFile => ({
    path: `DEBIAN/${name}`,
    mode: name === "templates" ? 0o644 : 0o755,
    content: readFileSync(join(SCRIPTS, name), "utf8"),
  });
  return [
    textFile("DEBIAN/control", control),
    textFile("DEBIAN/conffiles", `/${SETTINGS_FILE}\n`),
    textFile("DEBIAN/md5sums", `${sums.join("\n")}\n`),
    ...["postinst", "prerm", "postrm", "templates"].map(script),
  ];
}

function put(stage: string, { path, mode, content }: PackedFile): void {
  const file = join(stage, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

/** Sets the mode of all directories in `stage`, whatever the umask is, and all files' times. */
function setTimes(stage: string, time: number): void {
  const paths = [".", ...new Bun.Glob("**").scanSync({ cwd: stage, onlyFiles: false, dot: true })];
  for (const path of paths) {
    const file = join(stage, path);
    if (statSync(file).isDirectory()) chmodSync(file, 0o755);
    utimesSync(file, time, time);
  }
}
