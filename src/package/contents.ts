/** Files that the packages of pixelmill contain besides the executable. */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { printedBlocks } from "../cli/print/printed-blocks.ts";
import { remembered } from "../remembered.ts";
import { output, type PackedFile, ROOT, textFile } from "./product.ts";

/** Path of the settings file in a package. Once installed, it belongs to `root:pixelmill`. */
export const SETTINGS_FILE = "etc/pixelmill/pixelmill.toml";

export const settingsFile = (): string =>
  readFileSync(join(import.meta.dir, "debian/pixelmill.toml"), "utf8");

export const licence = (): string => readFileSync(join(ROOT, "LICENSE"), "utf8");

/** Returns name and text of each systemd unit file that `pixelmill print systemd` prints. */
export async function unitFiles(): Promise<[name: string, text: string][]> {
  const blocks = await printedBlocks("systemd");
  return blocks.map(({ file, text }): [string, string] => [basename(file!), text]).sort();
}

/**
 * Returns the unit files for a Debian package. Unlike those of `unitFiles`, they start
 * /usr/bin/pixelmill with a settings file, as the permanent user `pixelmill`.
 */
export async function debianUnitFiles(): Promise<[name: string, text: string][]> {
  const changes: [from: string, to: string][] = [
    [
      "/usr/local/bin/pixelmill serve --data /var/lib/pixelmill",
      `/usr/bin/pixelmill serve --config /${SETTINGS_FILE}`,
    ],
    ["DynamicUser=yes", "User=pixelmill\nGroup=pixelmill"],
  ];
  const units = await unitFiles();
  return units.map(([name, text]) =>
    name.endsWith(".service")
      ? [name, changes.reduce((done, [from, to]) => replaced(done, from, to), text)]
      : [name, text],
  );
}

function replaced(text: string, from: string, to: string): string {
  if (text.includes(from)) return text.replace(from, to);
  throw new Error(`Expected the unit file in docs/operating.md to have ${from}`);
}

/**
 * Returns the man page and the completion scripts. Each key of `paths` is the command of pixelmill
 * that prints one of these files, such as `completion bash`. The value is the file's path in the
 * package.
 */
export function manualFiles(paths: Record<Manual, string>): PackedFile[] {
  return Object.entries(paths).map(([words, path]) =>
    textFile(path, path.endsWith(".gz") ? compressed(manual(words), 9) : manual(words)),
  );
}

type Manual = "man" | "completion bash" | "completion zsh" | "completion fish";

/**
 * Returns the output of a command of pixelmill, and remembers it, so that each command runs only
 * once. `words` is the command without `pixelmill`, such as `completion bash`.
 */
const manual = remembered(4, (words: string) =>
  output([process.execPath, join(ROOT, "src/main.ts"), ...words.split(" ")]),
);

/**
 * Compresses data with gzip. The header contains neither a file name nor a time, so that equal data
 * gives equal bytes.
 */
export const compressed = (
  content: string | Uint8Array<ArrayBuffer>,
  level: 6 | 9 = 6,
): Uint8Array<ArrayBuffer> => Bun.gzipSync(content, { level, library: "libdeflate" });
