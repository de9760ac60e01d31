/**
 * Bundles the console for the browser into one file. The control plane serves this file, and the
 * executable embeds it. `bun src/console/bundle.ts` builds the file if a source has changed since
 * the last build.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import type { ConsoleBundle } from "../api/console-files.ts";

const ROOT = join(import.meta.dir, "../..");
const DIRECTORY = join(ROOT, "dist/console");
const BUNDLE = join(DIRECTORY, "console.zst");
const KEY = join(DIRECTORY, "console.key");
const ZSTD_LEVEL = 9;

/** Builds the bundle if a source has changed since the last build. Resolves with true if so. */
export async function ensureConsole(): Promise<boolean> {
  const key = keyOfSources();
  const keyOnDisk = await Bun.file(KEY)
    .text()
    .catch(() => undefined);
  if (keyOnDisk === key) return false;
  const bundle = await build();
  mkdirSync(DIRECTORY, { recursive: true });
  replaceFile(BUNDLE, await Bun.zstdCompress(JSON.stringify(bundle), { level: ZSTD_LEVEL }));
  replaceFile(KEY, key);
  return true;
}

function keyOfSources(): string {
  const files = [...sourcesOfConsole(), "package-lock.json"];
  const texts = files.map((name) => [name, readFileSync(join(ROOT, name), "utf8")]);
  return Bun.hash(JSON.stringify([Bun.version, texts])).toString(16);
}

/**
 * Returns the paths of the files in `src/console`, and of the files of other folders that they
 * import directly or indirectly. Imports of types do not count.
 */
export function sourcesOfConsole(): string[] {
  const own = readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(tsx?|css)$/.test(name))
    .map((name) => join(import.meta.dir, name));
  const found = new Set(own);
  const scanners: Record<string, Bun.Transpiler | undefined> = {
    ".ts": new Bun.Transpiler({ loader: "ts" }),
    ".tsx": new Bun.Transpiler({ loader: "tsx" }),
  };
  for (const path of found) {
    const imports = scanners[extname(path)]?.scanImports(readFileSync(path, "utf8")) ?? [];
    for (const { path: imported } of imports) {
      if (imported.startsWith(".")) found.add(join(dirname(path), imported));
    }
  }
  return [...found].map((path) => relative(ROOT, path)).sort();
}

/** Replaces a file atomically, so that several processes can build at the same time. */
function replaceFile(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

async function build(): Promise<ConsoleBundle> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "main.tsx")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    naming: "[name]-[hash].[ext]",
  });
  const texts = await Promise.all(
    outputs.map(async (output) => [output.path.replace(/^.*\//, ""), await output.text()] as const),
  );
  // Bun gives the outputs in an order that varies. Style sheets of chunks come before main's.
  const assets = Object.fromEntries(texts.sort(([a], [b]) => (a < b ? -1 : 1)));
  const names = Object.keys(assets);
  const script = names.find((name) => /^main-.*\.js$/.test(name))!;
  const styles = names.filter((name) => name.endsWith(".css"));
  const scripts = withImports(script, assets);
  return { html: page(scripts, styles), assets, first: [...scripts, ...styles] };
}

/**
 * Returns the names of a script and of all scripts that it imports statically, the script first.
 */
function withImports(script: string, assets: Record<string, string>): string[] {
  const scripts = new Set([script]);
  for (const name of scripts) {
    for (const [, imported] of assets[name]!.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) {
      scripts.add(imported!);
    }
  }
  return [...scripts];
}

function page([script, ...more]: string[], styles: string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>pixelmill</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
${styles.map((name) => `<link rel="stylesheet" href="/console/${name}">`).join("\n")}
${more.map((name) => `<link rel="modulepreload" href="/console/${name}">`).join("\n")}
<script type="module" src="/console/${script}"></script>
</head>
<body><div id="console"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`;
}

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#4f46e5"/><path d="M4 4h3v3H4zM9 4h3v3H9zM4 9h3v3H4z" fill="#fff"/><path d="M9 9h3v3H9z" fill="#a5b4fc"/></svg>`;

if (import.meta.main) {
  const isBuilt = await ensureConsole();
  process.stdout.write(isBuilt ? "Built dist/console/console.zst\n" : "");
}
