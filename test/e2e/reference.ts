/**
 * The README's tables of settings and limits, made from config.ts and limits.ts.
 *
 *   bun test/e2e/reference.ts    writes them into the README
 */
import { configSchema, environmentName, flagName } from "../../src/config.ts";
import * as limits from "../../src/limits.ts";

export async function tables(): Promise<Record<string, string>> {
  return { settings: settingsTable(), limits: await limitsTable() };
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

async function limitsTable(): Promise<string> {
  const source = await Bun.file(`${import.meta.dir}/../../src/limits.ts`).text();
  const documented = source.matchAll(/^\/\*\*\s((?:(?!\*\/).)*?)\s*\*\/\nexport const (\w+)/gms);
  const meanings = new Map(
    [...documented].map(([, text, name]) => [
      name!,
      text!.replace(/(^\s*|\s*\n )\*\s*/g, " ").trim(),
    ]),
  );
  const rows = Object.entries(limits).map(([name, value]) => {
    const meaning = meanings.get(name);
    if (meaning === undefined) throw new Error(`Expected a doc comment on ${name} of limits.ts`);
    return `| \`${name}\` | ${value.toLocaleString("en")} | ${meaning} |`;
  });
  return table("| limit | value | meaning |\n| --- | ---: | --- |", rows);
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
