/**
 * Builds the single executable `dist/pixelmill`: `npm run build`, or `bun src/build.ts [TARGET]
 * [--entry FILE] [--outfile FILE] [--fast]`. With `--fast` the build compresses files less. The
 * executable contains ES module bytecode, which halves the time of a start. The code is split into
 * chunks, so that a process reads only the chunks that it uses.
 *
 * Minifying keeps the names of properties in a handler's parameter, such as `({ request }) => …`.
 * The web framework Elysia needs these names, because it reads from the handler's source text which
 * parts of the request the handler uses.
 */
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import type { BunPlugin } from "bun";
import { embedPackedFiles } from "./build/packed-files.ts";
import { embedPackedLibraries, packedLibraries } from "./build/packed-libraries.ts";
import { stripped } from "./build/stripped.ts";
import { ensureConsole } from "./console/bundle.ts";
import { foreignModules } from "./package/foreign-modules.ts";
import type { Architecture } from "./package/product.ts";
import { ensureSnapshot } from "./sandbox/guest/python/snapshot.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    entry: { type: "string", default: join(import.meta.dir, "main.ts") },
    outfile: { type: "string" },
    fast: { type: "boolean", default: false },
  },
});
const target = positionals[0] as Bun.Build.CompileTarget | undefined;
const architecture =
  target === undefined ? process.arch : /arm64|aarch64/.test(target) ? "arm64" : "x64";
const platform = `linux-${architecture}`;
/**
 * Paths of Bun and of lmdb's addon for the target's processor architecture. Undefined when the
 * target has the architecture of this machine.
 */
const foreign =
  architecture === process.arch ? undefined : foreignModules(architecture as Architecture);

/**
 * Plugin that embeds lmdb's native addon and dictionary, because the files from which lmdb reads
 * them do not exist inside an executable. The build fails if the code that the plugin replaces has
 * changed.
 */
const embedLmdb: BunPlugin = {
  name: "embed lmdb",
  setup(build) {
    build.onLoad({ filter: /node_modules\/lmdb\/native\.js$/ }, async ({ path }) => ({
      contents: replaced(await Bun.file(path).text(), path, [
        [
          "import loadNAPI from 'node-gyp-build-optional-packages';",
          `import addon from ${JSON.stringify(foreign?.lmdb ?? `@lmdb/lmdb-${platform}/node.napi.glibc.node`)};`,
        ],
        ["loadNAPI(dirName)", "addon"],
      ]),
      loader: "js",
    }));
    build.onLoad({ filter: /node_modules\/lmdb\/open\.js$/ }, async ({ path }) => ({
      contents: `import dictionary from "./dict/dict.txt" with { type: "text" };\n${replaced(
        await Bun.file(path).text(),
        path,
        [
          [
            /fs\.readFileSync\(\s*new URL\(\s*'\.\/dict\/dict\.txt'[^;]*?\),\s*\),\s*\),/,
            "Buffer.from(dictionary),",
          ],
        ],
      )}`,
      loader: "js",
    }));
    build.onLoad({ filter: /node\.napi\.glibc\.node$/ }, ({ path }) => ({
      contents: stripped(readFileSync(path)),
      loader: "napi",
    }));
    // msgpackr's optional accelerator is a second addon; without it msgpackr decodes in JavaScript.
    build.onLoad({ filter: /node_modules\/msgpackr-extract\/index\.js$/ }, () => ({
      contents: "throw new Error('not embedded');",
      loader: "js",
    }));
  },
};

/**
 * Plugin that embeds the WebAssembly code of the Kafka library: a module of the library that
 * contains this code as text replaces the module that reads it from a file.
 */
const embedKafka: BunPlugin = {
  name: "embed Kafka's client",
  setup(build) {
    build.onResolve({ filter: /^@platformatic\/wasm-utils$/ }, ({ importer }) => ({
      path: Bun.resolveSync("@platformatic/wasm-utils/bundled", dirname(importer)),
    }));
  },
};

/**
 * Plugin that embeds Pyodide's WebAssembly code in compressed form, because the file from which
 * Pyodide reads it does not exist inside an executable. Loading Pyodide decompresses the code in
 * the background.
 */
const embedPyodide: BunPlugin = {
  name: "embed Pyodide",
  setup(build) {
    build.onResolve({ filter: /pyodide\.asm\.wasm$/ }, () => ({
      path: "pyodide.asm.wasm.zst",
      namespace: "packed-file",
    }));
    build.onLoad({ filter: /node_modules\/pyodide\/pyodide\.mjs$/ }, async ({ path }) => ({
      contents: `import { readFileSync } from "node:fs";
        import packedWasm from "packed-file:pyodide.asm.wasm";
        const decompressedWasm = [Bun.zstdDecompress(readFileSync(packedWasm))];
        ${replaced(await Bun.file(path).text(), path, [
          ['_(e+"pyodide.asm.wasm")', "{ binary: decompressedWasm.pop() }"],
        ])}`,
      loader: "js",
    }));
  },
};

function replaced(text: string, path: string, changes: [string | RegExp, string][]): string {
  return changes.reduce((current, [from, to]) => {
    const next = current.replace(from, to);
    if (next === current) throw new Error(`Cannot embed ${path}: its text has changed`);
    return next;
  }, text);
}

await ensureSnapshot();
await ensureConsole();

const name = target ? `pixelmill-${platform}` : "pixelmill";
const outfile = values.outfile ?? join(import.meta.dir, "../dist", name);
// Without these constants, the executable would contain the path of the checkout, and its bytes
// would depend on this path.
const define = { __dirname: '"/"', __filename: '"/index.js"' };
const packedFiles = {
  ...(await packedLibraries([embedKafka], define)),
  "pyodide.asm.wasm": readFileSync(Bun.resolveSync("pyodide/pyodide.asm.wasm", import.meta.dir)),
};
await Bun.build({
  entrypoints: [values.entry],
  format: "esm",
  bytecode: true,
  splitting: true,
  minify: true,
  naming: { asset: "[name].[ext]" },
  plugins: [
    embedLmdb,
    embedPyodide,
    embedPackedLibraries,
    embedPackedFiles(packedFiles, values.fast),
  ],
  define,
  compile: {
    ...(target && { target }),
    ...(foreign && { executablePath: foreign.bun }),
    outfile,
    autoloadDotenv: false,
    autoloadBunfig: false,
  },
});
process.stdout.write(`${relative(".", outfile)} ${(Bun.file(outfile).size / 1e6).toFixed(1)} MB\n`);
