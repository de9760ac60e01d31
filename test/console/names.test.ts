import { expect, test } from "bun:test";
import { Glob } from "bun";
import { eventName } from "../../src/console/data/event-name.ts";
import { isolated } from "../../src/console/format.ts";
import { bareNames } from "./bare-names.ts";

const sources = [...new Glob("src/console/**/*.{ts,tsx}").scanSync(".")].sort();

test("every element shows a user-given name by the component Name, and every title isolates it", async () => {
  const found: string[] = [];
  for (const path of sources) {
    if (path === "src/console/components/name.tsx") continue;
    const bare = bareNames(path, await Bun.file(path).text());
    found.push(...bare.map(({ line, text }) => `${path}:${line} ${text}`));
  }
  expect(found).toEqual([]);
});

test("every text that contains a user-given name isolates it", async () => {
  const found: string[] = [];
  for (const path of sources.filter((it) => it.startsWith("src/console/texts/"))) {
    const lines = (await Bun.file(path).text()).split("\n");
    found.push(...lines.filter((line) => /\$\{name\}/.test(line)).map((it) => `${path}: ${it}`));
  }
  expect(found).toEqual([]);
});

test("every field of a form has the path of the error that it shows", async () => {
  const fields: string[] = [];
  for (const path of sources) {
    const code = await Bun.file(path).text();
    if (!/<Form\s/.test(code)) continue;
    for (const [field] of code.matchAll(/<\w*Field\s.*?\/>/gs)) {
      if (!/\spath=|\{\.\.\.(.*\.)?(input|select)\(/.test(field)) fields.push(`${path}: ${field}`);
    }
  }
  expect(fields).toEqual([]);
});

test("a name outside of Name or in a title is found, and one in a tooltip or in Name is not", () => {
  const code = `const view = <p title={it.name}>
    {it.name} {sourceName ?? id} {names.source(id)} {names?.get(id) ?? id} <Name>{it.name}</Name> {texts.name(it)}
    <Dialog title={it?.name ?? id} /> <Dialog title={isolated(it.name)} />
  </p>;
  const column = { cell: (it) => it.name, key: (it) => it.name };`;
  expect(bareNames("screen.tsx", code).map(({ text }) => text)).toEqual([
    "{it.name}",
    "{sourceName ?? id}",
    "{names.source(id)}",
    "{names?.get(id) ?? id}",
    "title={it?.name ?? id}",
    "cell: (it) => it.name",
  ]);
});

test("eventName isolates the name of an event, which its sender chose", () => {
  expect(eventName({ event: "report\u202egnp.exe" })).toBe("report[U+202E]gnp.exe");
  expect(eventName({ type: "page", name: "חנות" })).toBe("\u2068חנות\u2069");
});

test("isolated encloses names that may reverse the text around them, and keeps others", () => {
  for (const name of ["Shop", "Läden 2 – ünïcode", "漢字", ""]) expect(isolated(name)).toBe(name);
  for (const name of ["חנות", "متجر"]) expect(isolated(name)).toBe(`\u2068${name}\u2069`);
  // It would read as an image.
  expect(isolated("report\u202egnp.exe")).toBe("report[U+202E]gnp.exe");
});
