import { readFileSync } from "node:fs";
import type { BunPlugin } from "bun";

/** Highest level without a large window. Files are compressed once; decompressing stays as fast. */
const ZSTD_LEVEL = 19;
const NAMESPACE = "packed-file";

/**
 * Embeds `files`, contents by name, compressed with zstd. A module imports the path of one as
 * `packed-file:NAME`. Pages of `docs` are embedded too; the modules that import them get their texts.
 */
export function embedPackedFiles(files: Readonly<Record<string, Uint8Array>>) {
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
        return { contents: await Bun.zstdCompress(content, { level: ZSTD_LEVEL }), loader: "file" };
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
