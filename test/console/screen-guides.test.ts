import { expect, test } from "bun:test";
import { guidePages } from "../../src/api/document/guide-pages.ts";
import { screenGuides } from "../../src/console/components/screen-guides.ts";
import { anchors } from "../docs/markdown.ts";

test("every screen has a page of the guide that exists, with the heading it names", async () => {
  const screens = await Bun.file("src/console/screens.ts").text();
  const names = [...screens.matchAll(/^ {2}\{ name: "(.*?)",/gm)].map(([, name]) => name!);
  expect(Object.keys(screenGuides).sort()).toEqual(names.sort());
  for (const target of Object.values(screenGuides)) {
    const [page = "", anchor] = target.split("#");
    expect([page, guidePages.has(page)]).toEqual([page, true]);
    const headings = anchors(await Bun.file(`docs/${page}.md`).text());
    if (anchor !== undefined) expect(headings).toContain(anchor);
  }
});
