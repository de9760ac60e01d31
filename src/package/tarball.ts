import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tarOf } from "./archive.ts";
import { compressed, licence, manualFiles, settingsFile, unitFiles } from "./contents.ts";
import { type PackedFile, type Product, textFile } from "./product.ts";

/**
 * Makes the archive (tar.gz) for machines that cannot install a Debian package. All files are in
 * one folder.
 */
export async function tarball(product: Product): Promise<Uint8Array<ArrayBuffer>> {
  const { version, architecture, time, executable } = product;
  const files: PackedFile[] = [
    { path: "bin/pixelmill", mode: 0o755, content: executable },
    textFile("LICENSE", licence()),
    textFile("INSTALL", readFileSync(join(import.meta.dir, "INSTALL"), "utf8")),
    textFile("etc/pixelmill.toml", settingsFile()),
    ...(await unitFiles()).map(([name, unit]) => textFile(`systemd/${name}`, unit)),
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
