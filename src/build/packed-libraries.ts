import { dirname, join } from "node:path";
import type { BunPlugin } from "bun";

/**
 * Modules that pixelmill's code imports from one library, by a short name. Each module is given as
 * a package name, or as a path relative to `src`.
 */
type Library = Readonly<Record<string, string>>;

const KAFKA = "../node_modules/@platformatic/kafka/dist";

/**
 * Libraries that few processes load. The executable contains them compressed and without bytecode,
 * in a tenth of the space that they would otherwise take. Each listed module is evaluated when it
 * is imported.
 */
const libraries: Readonly<Record<string, Library>> = {
  kafka: {
    clients: "@platformatic/kafka",
    protocol: `${KAFKA}/protocol/index.js`,
    apis: `${KAFKA}/apis/index.js`,
    errors: `${KAFKA}/errors.js`,
    consumerProtocol: `${KAFKA}/clients/consumer/consumer-protocol.js`,
  },
  "file-type": { main: "file-type" },
  "modern-tar": { main: "modern-tar/fs" },
  nodemailer: { main: "nodemailer" },
  "openid-client": { main: "openid-client" },
  parquet: { main: "hyparquet-writer" },
  pyodide: { main: "pyodide/pyodide.asm.mjs" },
};

const SOURCE = join(import.meta.dir, "..");
const NAMESPACE = "packed-library";

/**
 * Bundles each library, with the help of `plugins`, into a script without imports. Returns the
 * files that `embedPackedLibraries` needs, by name.
 */
export async function packedLibraries(
  plugins: BunPlugin[],
  define: Record<string, string>,
): Promise<Record<string, Uint8Array>> {
  const packed: Record<string, Uint8Array> = {};
  for (const [name, library] of Object.entries(libraries)) {
    packed[`${name}.js`] = await bundle(library, plugins, define);
  }
  return packed;
}

/** Plugin that replaces imports of packed libraries with modules that unpack and evaluate them. */
export const embedPackedLibraries: BunPlugin = {
  name: "embed compressed libraries",
  setup(build) {
    // Modules are named by library and part, because the path of the checkout would change bytes.
    const parts = new Map<string, { name: string; part: string; file: string }>();
    const modules = new Map<string, string>();
    for (const [name, library] of Object.entries(libraries)) {
      for (const [part, path] of Object.entries(library)) {
        const file = Bun.resolveSync(path, SOURCE);
        parts.set(`${name}/${part}`, { name, part, file });
        modules.set(file, `${name}/${part}`);
      }
    }
    const specifiers =
      /^(@platformatic\/kafka|file-type|hyparquet-writer|modern-tar\/fs|nodemailer|openid-client)$/;
    const paths = /(pyodide\.asm\.mjs|@platformatic\/kafka\/dist\/.+\.js)$/;
    for (const filter of [specifiers, paths]) {
      build.onResolve({ filter }, ({ path, importer }) => {
        const module = modules.get(Bun.resolveSync(path, dirname(importer)));
        return module === undefined ? undefined : { path: module, namespace: NAMESPACE };
      });
    }
    build.onResolve({ filter: /^packed-script:/ }, ({ path }) => ({ path, namespace: NAMESPACE }));
    build.onLoad({ filter: /^packed-script:/, namespace: NAMESPACE }, ({ path }) => ({
      contents: scriptModule(path.slice("packed-script:".length)),
      loader: "js",
    }));
    build.onLoad({ filter: /^[\w-]+\/\w+$/, namespace: NAMESPACE }, async ({ path }) => {
      const { name, part, file } = parts.get(path)!;
      return { contents: partModule(name, part, Object.keys(await import(file))), loader: "js" };
    });
  },
};

/** Returns the source text of a module that unpacks and evaluates the packed library `name`. */
function scriptModule(name: string): string {
  return `
    import { readFileSync } from "node:fs";
    import path from "packed-file:${name}.js";
    const script = (0, eval)(Bun.zstdDecompressSync(readFileSync(path)).toString());
    const module = { exports: {} };
    script(module.exports, import.meta.require, module, "", "");
    export default module.exports;
  `;
}

/**
 * Returns the source text of a module that exports the members `names` of one part of a packed
 * library.
 */
function partModule(name: string, part: string, names: string[]): string {
  const named = names.filter((it) => it !== "default");
  return `
    import library from "packed-script:${name}";
    const part = library.${part}();
    ${names.includes("default") ? "export default part.default;" : ""}
    export const { ${named.join(", ")} } = part;
  `;
}

/**
 * Bundles a library into one script, a CommonJS module. The script exports one function for each
 * part of the library. Calling it evaluates the part and returns the part's exports.
 */
async function bundle(
  library: Library,
  plugins: BunPlugin[],
  define: Record<string, string>,
): Promise<Uint8Array> {
  const parts = Object.entries(library).map(([part, path]) => {
    return `exports.${part} = () => require(${JSON.stringify(Bun.resolveSync(path, SOURCE))});`;
  });
  const entry: BunPlugin = {
    name: "parts of the library",
    setup(build) {
      build.onResolve({ filter: /^parts$/ }, () => ({ path: "parts", namespace: "parts" }));
      build.onLoad({ filter: /./, namespace: "parts" }, () => ({
        contents: parts.join("\n"),
        loader: "js",
        resolveDir: SOURCE,
      }));
    },
  };
  const { outputs } = await Bun.build({
    entrypoints: ["parts"],
    target: "bun",
    format: "cjs",
    minify: true,
    // CommonJS has no `import.meta`; the bundler would write the path of the file instead.
    define: { ...define, "import.meta.url": '"file:///index.js"' },
    plugins: [entry, ...plugins],
  });
  return new Uint8Array(await outputs[0]!.arrayBuffer());
}
