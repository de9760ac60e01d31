import { describe, expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { parse } from "@babel/parser";
import { Glob } from "bun";
import { oddSentences } from "./prose.ts";
import { testTitles } from "./test-titles.ts";

/**
 * The shape of the tree: which part may import which, how long a file and a function may be, and
 * words that hide an idea.
 */
const sources = [...new Glob("src/**/*.{ts,tsx}").scanSync(".")].sort();
const text = Object.fromEntries(
  await Promise.all(sources.map(async (path) => [path, await Bun.file(path).text()] as const)),
);

/**
 * A part may import parts of a lower level, itself, and what `sideways` and `only` add or take
 * away.
 */
const levels: string[][] = [
  ["main"],
  ["cli"],
  ["app"],
  ["health", "check"],
  ["backup"],
  ["backend"],
  ["first-start"],
  ["console"],
  ["ingest", "api", "transformer"],
  ["take-over"],
  ["pipeline", "alerts"],
  ["publishing", "cluster"],
  ["log", "event", "http", "sandbox", "destinations", "catalog", "figures"],
  ["kafka"],
  ["egress"],
  ["store"],
  ["disk"],
  ["observe"],
  ["concurrency", "json"],
  ["settings"],
  ["libc"],
  ["assert", "defined", "errors", "is-object", "remembered", "self-command", "version"],
];
const level = new Map(levels.flatMap((parts, depth) => parts.map((part) => [part, depth])));

/** Sideways arrows: event records and connections name positions of the log. */
const sideways = new Set(["event → log", "catalog → log"]);
/** Narrower than the levels: parts that know only these. */
const only: Record<string, string[]> = {
  ingest: [
    ...["assert", "catalog", "concurrency", "disk", "errors", "event"],
    ...["http", "json", "log", "observe", "remembered", "settings"],
  ],
  sandbox: ["concurrency", "json", "observe", "settings", "errors", "assert", "libc"],
  catalog: [
    ...["log", "store", "observe", "settings"],
    ...["errors", "assert", "defined", "is-object"],
  ],
  event: ["json", "log", "settings", "errors", "assert", "is-object"],
  "take-over": ["http", "observe", "errors", "libc"],
  http: ["concurrency", "settings", "assert", "errors", "libc"],
  log: ["disk", "observe", "settings", "errors", "assert"],
  cluster: [
    ...["concurrency", "kafka", "log", "store", "observe", "settings"],
    ...["errors", "assert", "is-object"],
  ],
};
const partOf = (path: string) => (path.split("/")[1] ?? "").replace(/\.ts$/, "");
/** Build tools, which are not in the executable. */
const tools = sources.filter(
  (path) =>
    ["src/build.ts", "src/console/bundle.ts"].includes(path) ||
    /^src\/(build|package)\//.test(path),
);

function imports(path: string): string[] {
  const found = text[path]!.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map((match) => normalize(join(dirname(path), match[1]!)));
}

/** Files that can be reached from themselves, each with the import that leads back. */
function circles(): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, way: string[]) => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(" → "));
    if (done.has(path)) return;
    done.add(path);
    for (const target of imports(path)) {
      if (text[target] !== undefined) walk(target, [...way, path]);
    }
  };
  for (const path of sources) walk(path, []);
  return found;
}

/** Folders, and files beside them, that import each other within one folder, at any depth. */
function circlesOfRooms(): string[] {
  const arrows = new Map<string, Map<string, Map<string, string>>>();
  for (const path of sources.filter((path) => !tools.includes(path))) {
    for (const target of imports(path).filter((target) => text[target] !== undefined)) {
      const [from, to] = [path.split("/"), target.split("/")];
      const depth = from.findIndex((name, at) => name !== to[at]);
      if (depth < 1) continue;
      const room = from.slice(0, depth).join("/");
      const children = arrows.get(room) ?? new Map<string, Map<string, string>>();
      const known = children.get(from[depth]!) ?? new Map<string, string>();
      arrows.set(room, children.set(from[depth]!, known.set(to[depth]!, `${path} → ${target}`)));
    }
  }
  return [...arrows].flatMap(([room, children]) => {
    const found: string[] = [];
    const done = new Set<string>();
    const walk = (child: string, way: string[]) => {
      if (way.includes(child)) {
        const circle = [...way.slice(way.indexOf(child)), child];
        const by = circle.slice(1).map((to, at) => children.get(circle[at]!)!.get(to));
        found.push(`${room}: ${circle.join(" → ")} (${by.join(", ")})`);
      }
      if (done.has(child)) return;
      done.add(child);
      for (const to of children.get(child)?.keys() ?? []) walk(to, [...way, child]);
    };
    for (const child of children.keys()) walk(child, []);
    return found;
  });
}

interface Node {
  type: string;
  loc: { start: { line: number }; end: { line: number } };
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "loc" in value;

/** Lists the functions of a file, with the number of lines outside nested functions. */
function functionsOf(path: string): { line: number; lines: number }[] {
  const found: { line: number; lines: number }[] = [];
  /** Lines of the functions in a node. */
  const walk = (node: Node): number => {
    let inner = 0;
    for (const child of Object.values(node).flat()) if (isNode(child)) inner += walk(child);
    if (!/Function|Method/.test(node.type)) return inner;
    const lines = node.loc.end.line - node.loc.start.line;
    found.push({ line: node.loc.start.line, lines: lines + 1 - inner });
    return lines;
  };
  const plugins = ["typescript" as const, "explicitResourceManagement" as const];
  const tree = parse(text[path]!, {
    sourceType: "module",
    plugins: path.endsWith("x") ? [...plugins, "jsx"] : plugins,
    attachComment: false,
  });
  walk(tree.program as unknown as Node);
  return found;
}

/** Smallest timeout of a test that is generous enough for a busy machine. */
const TEST_MS_MIN = 300_000;

test("no test has a timeout that a slow machine would reach", async () => {
  const hasty: string[] = [];
  for (const path of new Glob("test/**/*.test.ts").scanSync(".")) {
    const ends = (await Bun.file(path).text()).matchAll(
      /(?:^ *\}, |^ *|^setDefaultTimeout\()([\d_]{5,})(?:\);|,\n *\);)$/gm,
    );
    for (const [, ms] of ends) {
      if (Number(ms!.replaceAll("_", "")) < TEST_MS_MIN) hasty.push(`${path}: ${ms}`);
    }
  }
  expect(hasty).toEqual([]);
});

test("a test awaits its expectations of promises, and waits for states by test/until.ts", async () => {
  const found: string[] = [];
  // Without await, a promise that is never settled hangs the process, whatever the test's timeout.
  const idle = /^ *expect\((?:(?!;\n)[\s\S])*?\)\s*\.(?:rejects|resolves)\./gm;
  const own =
    /^(?:export )?(?:async function |const )(?:until|eventually|waitFor)\b(?!.*page: Page)/gm;
  for (const path of new Glob("test/**/*.{ts,tsx}").scanSync(".")) {
    const source = await Bun.file(path).text();
    const declared = path === "test/until.ts" ? [] : source.matchAll(own);
    for (const [line] of [...source.matchAll(idle), ...declared]) found.push(`${path}: ${line}`);
  }
  expect(found).toEqual([]);
});

test("an expectation after a fixed pause holds all through the pause", async () => {
  const found: string[] = [];
  // A pause of 0 lets everything run that is due; with `await` the expectation is of a new action.
  const paused = /^ *await Bun\.sleep\((?!0\)).*\);\n(?: *\/\/.*\n)*( *expect\((?!\(*await\b).*)/gm;
  for (const path of new Glob("test/**/*.{ts,tsx}").scanSync(".")) {
    const source = await Bun.file(path).text();
    for (const [, line] of source.matchAll(paused)) found.push(`${path}: ${line!.trim()}`);
  }
  expect(found).toEqual([]);
});

describe("the house", () => {
  test("source files are found", () => expect(sources.length).toBeGreaterThan(30));

  test("every source file belongs to a part of the design", () => {
    const strangers = sources.filter((path) => !tools.includes(path) && !level.has(partOf(path)));
    expect(strangers).toEqual([]);
  });

  test("arrows only go down", () => {
    const inside = sources.filter((path) => !tools.includes(path));
    const wrong = inside.flatMap((path) => {
      const from = partOf(path);
      return imports(path)
        .filter((target) => target.startsWith("src/"))
        .map(partOf)
        .filter((to) => to !== from)
        .filter((to) => {
          if (from === "main") return false;
          if (sideways.has(`${from} → ${to}`)) return false;
          if (only[from]) return !only[from].includes(to);
          return level.get(to)! <= level.get(from)!;
        })
        .map((to) => `${path} → ${to}`);
    });
    expect(wrong).toEqual([]);
  });

  test("the console knows the typed client, a rule of its forms, one of its search and the limits, and nothing else of the server", () => {
    const known = [
      "src/api/client.ts",
      "src/destinations/applies-when.ts",
      "src/event/text-search.ts",
      "src/settings/limits.ts",
    ];
    const strange = sources
      .filter((path) => partOf(path) === "console" && !tools.includes(path))
      .flatMap((path) => imports(path).map((target) => [path, target] as const))
      .filter(([, to]) => partOf(to) !== "console" && !known.includes(to));
    expect(strange).toEqual([]);
  });

  test("no imports form a circle, not even imports of types", () => {
    expect(circles()).toEqual([]);
  });

  test("no folder imports itself by way of its neighbours, at any depth", () => {
    expect(circlesOfRooms()).toEqual([]);
  });

  test("Elysia lives in api/ alone", () => {
    const strangers = sources.filter(
      (path) => /from "(@?elysia[^"]*)"/.test(text[path]!) && !path.startsWith("src/api/"),
    );
    expect(strangers).toEqual([]);
  });

  test("Kafka is known to three folders, which load its client when it is asked for", () => {
    const knowing = sources.filter((path) => /@platformatic/.test(text[path]!));
    const folders = /^src\/(cluster|kafka|destinations\/kafka|build)\/|^src\/build.ts$/;
    expect(knowing.filter((path) => !folders.test(path))).toEqual([]);
    const loading = knowing.filter((path) => /^import (?!type).*@platformatic/m.test(text[path]!));
    expect(loading).toEqual([]);
  });

  test("only two files of settings read the environment, only main.ts exits", () => {
    const inside = sources.filter((path) => !tools.includes(path));
    const readers = inside.filter((path) => /process\.env|Bun\.env/.test(text[path]!));
    expect(readers).toEqual(["src/settings/client-environment.ts", "src/settings/reader.ts"]);
    const leavers = inside.filter((path) => /process\.exit\(/.test(text[path]!));
    expect(leavers).toEqual(["src/main.ts"]);
  });

  test("a file has at most its limit of lines, and no name of a catch-all", () => {
    // limits.ts is a table: it grows with what the product offers.
    const long = sources.filter(
      (path) => text[path]!.split("\n").length > 301 && path !== "src/settings/limits.ts",
    );
    expect(long).toEqual([]);
    const names = sources.filter((path) => /(util|helper|manager|service|payload)/i.test(path));
    expect(names).toEqual([]);
  });

  test("a comment begins with its subject, and has no empty words", async () => {
    // Bun's Glob finds nothing by braces around paths of several folders.
    const documents = ["*.md", "docs/**/*.md"].flatMap((paths) =>
      [...new Glob(paths).scanSync(".")].sort(),
    );
    expect(documents).toContain("docs/README.md");
    const odd = await Promise.all(
      [...sources, ...documents].map(async (path) =>
        oddSentences(path, await Bun.file(path).text()),
      ),
    );
    expect(odd.flat()).toEqual([]);
  });

  test("a title of a test stands alone in a list of failures, and once in its file", async () => {
    const unclear: string[] = [];
    for (const path of new Glob("test/**/*.test.ts").scanSync(".")) {
      const titles = testTitles(await Bun.file(path).text());
      for (const { line, title } of titles) {
        const isPlaceholder = !/[a-z]{3}/i.test(title.replace(/%\w|\$\{\w+\}/g, ""));
        const isTwice = titles.filter((other) => other.title === title).length > 1;
        if (isPlaceholder || isTwice) unclear.push(`${path}:${line} ${title}`);
      }
    }
    expect(unclear).toEqual([]);
  });

  test("a name of a type stands for one idea", () => {
    const declared = new Map<string, string[]>();
    for (const path of sources) {
      for (const [, name] of text[path]!.matchAll(
        /^export (?:abstract )?(?:interface|type|class) (\w+)/gm,
      )) {
        declared.set(name!, [...(declared.get(name!) ?? []), path]);
      }
    }
    // The console declares the answers of the API under the server's names.
    const isConsole = (path: string) => path.startsWith("src/console/");
    const twice = [...declared].filter(([, paths]) => {
      const own = paths.filter(isConsole).length;
      return own > 1 || paths.length - own > 1;
    });
    expect(twice).toEqual([]);
  });

  test("no object is spread only to pack its lines", () => {
    const packed = sources.filter((path) => /\.\.\.\{/.test(text[path]!));
    expect(packed).toEqual([]);
  });

  test("a folder holds at most 16 files, or its reason stands here", () => {
    /** One file per command, screen, route or step of one idea. */
    const reasons = ["src/console/components", "src/console/texts"];
    const folders = Map.groupBy(sources, (path) => dirname(path));
    const crowded = [...folders].filter(
      ([folder, paths]) => paths.length > 16 && !reasons.includes(folder),
    );
    expect(crowded.map(([folder, paths]) => `${folder} has ${paths.length} files`)).toEqual([]);
  });

  test("a function is at most a screen long, those inside it left out", () => {
    const long = sources.flatMap((path) => {
      const max = path.endsWith(".tsx") ? 110 : 70;
      // A file that is no longer than a function may be is not parsed.
      if (text[path]!.split("\n").length <= max) return [];
      const found = functionsOf(path).filter(({ lines }) => lines > max);
      return found.map(({ line, lines }) => `${path}:${line} has ${lines} lines`);
    });
    expect(long).toEqual([]);
  }, 300_000);

  test("a line of a comment has at most 100 characters", () => {
    const long = sources.flatMap((path) =>
      text[path]!.split("\n").flatMap((line, at) => {
        const isComment = /^\s*(\/\*\*|\*|\/\/) /.test(line) && !/biome-ignore|:\/\//.test(line);
        return isComment && line.length > 100 ? [`${path}:${at + 1}`] : [];
      }),
    );
    expect(long).toEqual([]);
  });

  test("no source file contains a TODO", () => {
    const marked = sources.filter((path) => /\b(TODO|FIXME|XXX|HACK)\b/.test(text[path]!));
    expect(marked).toEqual([]);
  });
});
