/**
 * Types of imports with `type: "file"`. The default export is the path of the file, which is valid
 * inside the compiled executable too.
 */
declare module "*.wasm" {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: a file module has no other export.
  export default path;
}
declare module "*.zip" {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: a file module has no other export.
  export default path;
}
declare module "*.zst" {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: a file module has no other export.
  export default path;
}
declare module "pyodide/pyodide.asm.mjs" {
  import type { loadPyodide } from "pyodide";

  type Options = NonNullable<Parameters<typeof loadPyodide>[0]>;
  const create: NonNullable<Options["createPyodideModule"]>;
  // biome-ignore lint/style/noDefaultExport: as Emscripten writes it.
  export default create;
}
