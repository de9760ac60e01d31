import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tarOf } from "./archive.ts";
import { compressed, licence, manualFiles, settingsFile, unitFiles } from "./contents.ts";
import type { PackedFile, Product } from "./product.ts";

/**
 * Makes the archive (tar.gz) for machines that take no Debian package. All files are in one folder.
 */
export async function tarball(product: Product): Promise<Uint8Array<ArrayBuffer>> {
  const { version, architecture, time, executable } = product;
  const text = (path: string, content: string): PackedFile => ({ path, mode: 0o644, content });
  const files: PackedFile[] = [
    { path: "bin/pixelmill", mode: 0o755, content: executable },
    text("LICENSE", licence()),
    text("INSTALL", readFileSync(join(import.meta.dir, "INSTALL"), "utf8")),
    text("etc/pixelmill.toml", settingsFile()),
    ...(await unitFiles()).map(([name, unit]) => text(`systemd/${name}`, unit)),
    ...manualFiles({
      man: "share/man/man1/pixelmill.1",
      "completion bash": "share/bash-completion/completions/pixelmill",
      "completion zsh": "share/zsh/site-functions/_pixelmill",
      "completion fish": "share/fish/vendor_completions.d/pixelmill.fish",
    }),
  ];
  const folder = `pixelmill-${version}-linux-${architecture}`;
  const entries = files.map((file) => ({ ...file, path: `${folder}/${file.path}` }));
  return compressed(await tarOf(entries, time));
}
