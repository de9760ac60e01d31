/** Title of a test with the titles of the groups around it, as a list of failures shows it. */
export interface TestTitle {
  line: number;
  title: string;
}

const OPENING =
  /^(\s*)(?:(describe|test)(?:With\(.*?\)|\.\w+)?(?:\(\w+\))?|\](?: as \w+)*\))\((["`])((?:(?!\3).)+)\3, /;

/** Returns the titles of a test file. Groups are found by indentation, which the formatter sets. */
export function testTitles(text: string): TestTitle[] {
  const titles: TestTitle[] = [];
  const groups: { indent: number; title: string }[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    const [, indent, kind, , title] = OPENING.exec(line) ?? [];
    if (indent === undefined || title === undefined) continue;
    while (groups.length > 0 && groups.at(-1)!.indent >= indent.length) groups.pop();
    if (kind === "describe") groups.push({ indent: indent.length, title });
    else {
      const names = [...groups.map((group) => group.title), title];
      titles.push({ line: at + 1, title: names.join(" > ") });
    }
  }
  return titles;
}
