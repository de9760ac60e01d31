import { readFileSync } from "node:fs";
import type { BunPlugin } from "bun";

/**
 * Zstandard level for embedded files: the highest level that needs no large window for
 * decompression. Compression takes 6 s of CPU time in a build. Decompression is as fast as at lower
 * levels.
 */
const ZSTD_LEVEL = 19;
/** Zstandard level with `--fast`: compresses in 0.3 s, but makes the executable 0.34 MB larger. */
const ZSTD_FAST_LEVEL = 9;
const NAMESPACE = "packed-file";

/**
 * Returns a plugin that embeds `files` (contents by name), compressed with Zstandard. `isFast`
 * selects faster compression that makes larger files.
 * - Importing `packed-file:NAME` returns the path of the compressed file.
 * - Importing a Markdown file of the folder `docs/` returns its text.
 */
export function embedPackedFiles(files: Readonly<Record<string, Uint8Array>>, isFast: boolean) {
  const level = isFast ? ZSTD_FAST_LEVEL : ZSTD_LEVEL;
  const pages = new Map<string, Uint8Array>();
  const plugin: BunPlugin = {
    name: "embed compressed files",
    setup(build) {
      build.onResolve({ filter: /^packed-file:/ }, ({ path }) => ({
        path: `${path.slice(NAMESPACE.length + 1)}.zst`,
        namespace: NAMESPACE,
      }));
      // Pages of the guide, which are imported as texts.
      build.onLoad({ filter: /\/docs\/.+\.md$/ }, ({ path }) => {
        const name = path.replace(/^.*\/docs\//, "").replaceAll("/", "-");
        pages.set(name, readFileSync(path));
        return { contents: textModule(name), loader: "js" };
      });
      build.onLoad({ filter: /./, namespace: NAMESPACE }, async ({ path }) => {
        const name = path.replace(/\.zst$/, "");
        const content = files[name] ?? pages.get(name)!;
        return { contents: await Bun.zstdCompress(content, { level }), loader: "file" };
      });
    },
  };
  return plugin;
}

function textModule(name: string): string {
  return `
    import { readFileSync } from "node:fs";
    import path from "packed-file:${name}";
    export default Bun.zstdDecompressSync(readFileSync(path)).toString();
  `;
}
