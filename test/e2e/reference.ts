/**
 * The README's tables of settings and limits, made from src/settings and each limits.ts.
 *
 *   bun test/e2e/reference.ts    writes them into the README
 */

import { environmentName, flagName } from "../../src/settings/reader.ts";
import { configSchema } from "../../src/settings/schema.ts";

export async function tables(): Promise<Record<string, string>> {
  return { settings: settingsTable(), limits: await limitsTables() };
}

/** What stands between `<!-- name -->` and `<!-- /name -->`. */
export function sectionOf(markdown: string, name: string): string {
  const section = markdown.match(pattern(name));
  if (!section) throw new Error(`Expected a section ${name} in the README`);
  return section[1]!;
}

const pattern = (name: string) =>
  new RegExp(`(?<=<!-- ${name} -->\n)(.*?)(?=<!-- /${name} -->)`, "s");

function settingsTable(): string {
  const rows = Object.entries(configSchema.properties).map(([key, schema]) => {
    const fallback = Array.isArray(schema.default) ? "" : String(schema.default ?? "");
    const names = `\`${environmentName(key)}\`, \`--${flagName(key)}\``;
    return `| \`${key}\` | ${names} | ${fallback && `\`${fallback}\``} | ${schema.description} |`;
  });
  return table("| key | environment, flag | default | meaning |\n| --- | --- | --- | --- |", rows);
}

/**
 * A table for each group of limits in `src/settings/limits.ts` and in the `limits.ts` of each room,
 * under the comment that begins the group. A file without groups has internal bounds only.
 */
async function limitsTables(): Promise<string> {
  const first = "settings/limits.ts";
  const files = [...new Bun.Glob("**/limits.ts").scanSync(sourceDirectory)].sort();
  const others = files.filter((file) => file !== first);
  let text = "";
  for (const file of [first, ...others]) text += await limitsOf(`${sourceDirectory}/${file}`);
  return `${text}\n`;
}

const sourceDirectory = `${import.meta.dir}/../../src`;

async function limitsOf(path: string): Promise<string> {
  const [, ...groups] = (await Bun.file(path).text()).split(/^\/\/ (.+)$/m);
  if (groups.length === 0) return "";
  const values: Record<string, number> = await import(path);
  const names = new Set<string>();
  let text = "";
  for (let at = 0; at < groups.length; at += 2) {
    const documented = [
      ...groups[at + 1]!.matchAll(/^\/\*\*\s((?:(?!\*\/).)*?)\s*\*\/\nexport const (\w+)/gms),
    ];
    const rows = documented.map(([, meaning, name]) => {
      names.add(name!);
      const value = values[name!]!.toLocaleString("en");
      return `| \`${name}\` | ${value} | ${meaning!.replace(/(^\s*|\s*\n )\*\s*/g, " ").trim()} |`;
    });
    text += `\n**${groups[at]}**\n\n`;
    text += table("| limit | value | meaning |\n| --- | ---: | --- |", rows);
  }
  const left = Object.keys(values).filter((name) => !names.has(name));
  if (left.length > 0) throw new Error(`Expected a group and a doc comment for ${left.join(", ")}`);
  return text;
}

const table = (head: string, rows: string[]) => `${head}\n${rows.join("\n")}\n`;

if (import.meta.main) {
  const file = Bun.file("README.md");
  let readme = await file.text();
  for (const [name, content] of Object.entries(await tables())) {
    readme = readme.replace(pattern(name), () => content);
  }
  await Bun.write(file, readme);
}
