import { describe, expect, test } from "bun:test";
import { Glob } from "bun";

const files: { path: string; text: string }[] = [];
for (const path of [...new Glob("src/console/**/*.{ts,tsx}").scanSync(".")].sort()) {
  files.push({ path, text: await Bun.file(path).text() });
}

/** Lines of the console's sources that match, as `path:line text`. */
function linesWith(pattern: RegExp, exempt: readonly string[] = []): string[] {
  return files
    .filter(({ path }) => !exempt.includes(path))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => {
        return pattern.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [];
      }),
    );
}

const timeComponent = "src/console/components/time.tsx";

describe("times of the console", () => {
  test("are formatted in one file, so that all are alike", () => {
    // The form of an alert's rule asks for the name of the time zone.
    const formats =
      /Intl\.(DateTime|RelativeTime)Format|\.toLocale(Date|Time)?String|\.to(Date|Time|UTC)String/;
    const found = linesWith(formats, [timeComponent]);
    expect(found.filter((line) => !line.includes(".resolvedOptions().timeZone"))).toEqual([]);
  });

  test("stand in a sentence as an age alone: a state has lasted `for 24 s`, and not since `24 s ago`", () => {
    expect(linesWith(/since[^"`]*["`], (time|at|<Time)|[Ss]ince(&nbsp;|\s)*\{?<Time/, [])).toEqual(
      [],
    );
  });

  test("are on a clock of 24 hours, wherever there is an hour", () => {
    const { text } = files.find(({ path }) => path === timeComponent)!;
    const formats = text.match(/Intl\.DateTimeFormat\([^;]*;/g) ?? [];
    expect(formats.length).toBeGreaterThan(3);
    const withHours = formats.filter((it) => /hour|clock|timeStyle/.test(it));
    expect(withHours.filter((it) => !/hourCycle|\.\.\.clock/.test(it))).toEqual([]);
    expect(text).toContain('hourCycle: "h23"');
  });

  test("are not asked for by a control with the clock of the browser's language", () => {
    expect(linesWith(/\btype(=|: )"(datetime-local|time)"/)).toEqual([]);
  });
});

test("a text that is cut to some lines is a link to the whole, or has a button for it", () => {
  const cut = linesWith(/class="[^"]*\bclamp\b/);
  expect(
    cut.filter((line) => !line.includes("<a ") && !/class="[^"]*clamp" href/.test(line)),
  ).toEqual([]);
});

test("transformations are listed in pages and without their code, since both grow", () => {
  expect(linesWith(/"GET \/transformations"/)).toEqual([]);
});

test("what a page shows is expected soon, since a look at once may meet the change of a screen", async () => {
  const reads =
    "count|all(TextContents|InnerTexts)|is(Visible|Hidden|Enabled|Disabled|Checked)|inputValue|(text|inner)(Content|Text)|getAttribute|evaluateAll";
  const atOnce = new RegExp(`(?<!=>)\\n *expect\\([^;]*\\bawait\\b[^;]*\\.(${reads})\\(`, "g");
  const found: string[] = [];
  for (const path of [...new Glob("test/**/*.test.ts").scanSync(".")].sort()) {
    const text = await Bun.file(path).text();
    if (!/playwright-core|_browser\.ts/.test(text)) continue;
    for (const [match] of text.matchAll(atOnce)) found.push(`${path}: ${match.trim()}`);
  }
  expect(found).toEqual([]);
});
