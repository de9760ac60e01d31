import { Glob } from "bun";
import { table } from "./table.ts";

interface Limit {
  name: string;
  value: number;
  meaning: string;
}

/** The files with public limits, each with groups of documented constants: `// Group`. */
async function limitFiles(): Promise<string[]> {
  const paths = [...new Glob("src/**/limits.ts").scanSync(".")].sort();
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()));
  const withGroups = paths.filter((_, at) => /^\/\/ \S/m.test(texts[at]!));
  const general = "src/settings/limits.ts";
  return [general, ...withGroups.filter((path) => path !== general)];
}

/** The public limits by the group that documents them. */
export async function limitGroups(): Promise<Map<string, Limit[]>> {
  const groups = new Map<string, Limit[]>();
  for (const path of await limitFiles()) {
    const values: Record<string, unknown> = await import(`../../../${path}`);
    const [, ...parts] = (await Bun.file(path).text()).split(/^\/\/ (.+)$/m);
    const documented = new Set<string>();
    for (let at = 0; at < parts.length; at += 2) {
      const limits = groups.get(parts[at]!) ?? [];
      for (const [, comment, name] of parts[at + 1]!.matchAll(DOCUMENTED)) {
        const meaning = comment!.replace(/(^\s*|\s*\n )\*\s*/g, " ").trim();
        limits.push({ name: name!, value: Number(values[name!]), meaning });
        documented.add(name!);
      }
      groups.set(parts[at]!, limits);
    }
    const numbers = Object.keys(values).filter((name) => typeof values[name] === "number");
    const left = numbers.filter((name) => !documented.has(name));
    if (left.length > 0) {
      throw new Error(`Expected a group and a doc comment in ${path} for ${left.join(", ")}`);
    }
  }
  return groups;
}

const DOCUMENTED = /^\/\*\*\s((?:(?!\*\/).)*?)\s*\*\/\nexport const (\w+)/gms;

export async function limitsPage(): Promise<string> {
  const sections = [...(await limitGroups())].map(([group, limits]) => {
    const rows = limits.map(({ name, value, meaning }) => [
      `\`${name}\``,
      value.toLocaleString("en"),
      meaning,
    ]);
    return `## ${group}\n\n${table(["limit", "value", "meaning"], rows, ["value"])}`;
  });
  return `# Limits

Every bound that a user can meet. Units are in the names. Limits are constants of a version; [settings](settings.md) can
be changed.

${sections.join("\n")}`;
}
