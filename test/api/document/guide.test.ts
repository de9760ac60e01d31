import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { render } from "../../../src/api/document/guide.ts";
import { guidePages } from "../../../src/api/document/guide-pages.ts";
import { anchors, documents, links } from "../../docs/markdown.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** The guide: the pages of docs/, as the control plane serves them. */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const read = async (path: string) => {
  const headers = { authorization: `Bearer ${api.token}` };
  const response = await fetch(`${api.url}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const addressOf = (name: string) => (name === "" ? "/docs/guide" : `/docs/guide/${name}`);
const fileOf = (name: string) => `docs/${name === "" ? "README" : name}.md`;

test("the guide has every page of docs", () => {
  const pages = documents.filter((path) => path.startsWith("docs/"));
  expect([...guidePages.keys()].map(fileOf).sort()).toEqual(pages);
});

describe("a page of the guide", () => {
  for (const name of guidePages.keys()) {
    test(`${addressOf(name)} has its headings, and links that lead somewhere`, async () => {
      const { status, headers, text } = await read(addressOf(name));
      expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      const markdown = await Bun.file(fileOf(name)).text();
      for (const anchor of anchors(markdown)) expect(text).toContain(`id="${anchor}"`);
      expect(text).not.toContain("&lt;!--");
      const article = text.slice(text.indexOf("<article>"));
      const inside = [...article.matchAll(/<a href="(\/docs\/guide[^"#]*)/g)].map(
        ([, href]) => href!,
      );
      const served = new Set([...guidePages.keys()].map(addressOf));
      expect(inside.filter((href) => !served.has(href))).toEqual([]);
      // The guide leaves images out.
      const toPages = links(fileOf(name), markdown).filter(
        ({ target }) => !/^(https?:|#)|\.png$/.test(target),
      );
      expect(article).not.toContain("<img");
      expect(inside).toHaveLength(toPages.length);
    });
  }

  test("is served after a request at which a page could not be loaded", async () => {
    const pages = guidePages as Map<string, () => Promise<{ default: string }>>;
    const load = pages.get("tutorial")!;
    pages.set("tutorial", () => Promise.reject(new Error("out of memory")));
    try {
      expect((await read("/docs/guide")).status).toBe(500);
    } finally {
      pages.set("tutorial", load);
    }
    expect((await read("/docs/guide")).status).toBe(200);
  });

  test("is titled by its heading, and is the current one in the list of all pages", async () => {
    const { text } = await read("/docs/guide/destinations/webhook");
    const heading = /^# (.+)$/m.exec(await Bun.file(fileOf("destinations/webhook")).text())![1]!;
    expect(text).toContain(`<title>${Bun.escapeHTML(heading)} · pixelmill</title>`);
    const current = [...text.matchAll(/<a href="([^"]+)" aria-current="page">([^<]+)</g)];
    expect(current.map(([, href, name]) => [href, name])).toEqual([
      ["/docs/guide/destinations/webhook", Bun.escapeHTML(heading)],
    ]);
    const listed = [...text.split("</ul></nav>")[0]!.matchAll(/<li><a href="([^"]+)"/g)];
    expect(listed.map(([, href]) => href)).toEqual([...guidePages.keys()].map(addressOf));
  });

  test("has a strict policy, whose style is the page's own", async () => {
    const { headers, text } = await read("/docs/guide");
    const policy = headers.get("content-security-policy")!;
    expect(policy).toStartWith("default-src 'none'; style-src 'self' 'sha256-");
    expect(policy).not.toContain("unsafe");
    const style = /<style>([\s\S]*?)<\/style>/.exec(text)![1]!;
    const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    expect(policy).toContain(hash);
    expect(text).not.toContain("<script");
  });

  test("needs a token, which a browser is asked for", async () => {
    const response = await fetch(`${api.url}/docs/guide/tutorial`);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toStartWith("Basic ");
  });

  test.each([
    "/docs/guide/nothing",
    "/docs/guide/destinations/nothing",
    "/docs/guide/..%2f..%2fpackage.json",
  ])("%s is 404 with a message", async (path) => {
    const { status, text } = await read(path);
    expect([status, JSON.parse(text)]).toEqual([404, { message: "Page not found" }]);
  });
});

describe("rendering", () => {
  test("shows raw HTML as text", () => {
    const html = render(
      "# A\n\n<script>alert(1)</script>\n\ntext <img src=x onerror=alert(1)>",
      "",
    );
    expect(html).not.toContain("<script");
    expect(html).not.toContain("<img");
  });

  test("keeps the text of links to scripts and to files that the server does not have", () => {
    const html = render("[a](javascript:alert(1)) [b](../SECURITY.md) [c](//example.com)", "");
    expect(html).toBe("<p>a b c</p>\n");
  });

  test("leads from a page of a folder to its neighbours and out of the folder", () => {
    const html = render(
      "[a](webhook.md) [b](../replays.md#search) [c](../README.md)",
      "destinations/delivery",
    );
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      "/docs/guide/destinations/webhook",
      "/docs/guide/replays#search",
      "/docs/guide",
    ]);
  });
});
