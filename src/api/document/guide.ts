import { dirname, join } from "node:path/posix";
import { Type } from "@sinclair/typebox";
import { ApiError } from "../../errors.ts";
import { consoleStyles } from "../console-files.ts";
import { contentPolicy, inlineHash } from "../response/content-policy.ts";
import { responseHeaders } from "../response/errors.ts";
import { route } from "../route.ts";
import style from "./guide.css" with { type: "text" };
import { guidePages } from "./guide-pages.ts";

const GUIDE = "/docs/guide";

const page = {
  summary: "Read a page of the guide in a browser, which asks for a token as password",
  needs: [],
  answer: Type.String(),
  media: "text/html",
} as const;
const example = { answer: "<!doctype html>" };

/** Routes that serve the guide: the Markdown files of the folder `docs/`, as HTML pages. */
export const guideRoutes = [
  route("GET /docs/guide", { ...page, example, handle: () => guideResponse("") }),

  route("GET /docs/guide/{page}", {
    ...page,
    example: { ...example, params: { page: "tutorial" } },
    handle: ({ params }) => guideResponse(params.page),
  }),

  route("GET /docs/guide/{page}/{subpage}", {
    ...page,
    example: { ...example, params: { page: "destinations", subpage: "webhook" } },
    handle: ({ params }) => guideResponse(`${params.page}/${params.subpage}`),
  }),
] as const;

async function guideResponse(name: string): Promise<Response> {
  const load = guidePages.get(name);
  if (load === undefined) throw new ApiError("missing", "Page not found");
  const [titles, styles] = await Promise.all([loadTitles(), consoleStyles()]);
  const title = titles.get(name)!;
  const links = [...titles].map(([target, text]) => {
    const current = target === name ? ' aria-current="page"' : "";
    return `<li><a href="${hrefOf(target)}"${current}>${Bun.escapeHTML(text)}</a></li>`;
  });
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${Bun.escapeHTML(title)} · pixelmill</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${styles.map((href) => `<link rel="stylesheet" href="${href}">`).join("\n")}
<style>${style}</style>
</head>
<body class="guide">
<nav aria-label="Pages"><a href="/">Console</a> · <a href="/docs">API reference</a><ul>${links.join("")}</ul></nav>
<article>
${render((await load()).default, name)}
</article>
</body>
</html>
`;
  return new Response(html, { headers });
}

const headers = {
  ...responseHeaders,
  "Content-Type": "text/html; charset=utf-8",
  ...contentPolicy(`style-src 'self' ${inlineHash(style)}`),
  "Referrer-Policy": "no-referrer",
};

async function loadTitles(): Promise<Map<string, string>> {
  const titles = new Map<string, string>();
  for (const [name, load] of guidePages) {
    titles.set(name, /^# (.+)$/m.exec((await load()).default)?.[1] ?? name);
  }
  return titles;
}

const hrefOf = (name: string) => (name === "" ? GUIDE : `${GUIDE}/${name}`);

/**
 * Renders a page's Markdown as HTML. Raw HTML is shown as text, and images are left out. Links to
 * pages of the guide and to URLs with http or https stay; any other link becomes plain text.
 */
export function render(markdown: string, name: string): string {
  const html = Bun.markdown.html(markdown.replace(/<!--.*?-->\n?/gs, ""), {
    headings: { ids: true },
    noHtmlBlocks: true,
    noHtmlSpans: true,
  });
  return new HTMLRewriter()
    .on("a", {
      element(link) {
        const href = linkOf(link.getAttribute("href") ?? "", name);
        if (href === undefined) link.removeAndKeepContent();
        else link.setAttribute("href", href);
      },
    })
    .on("img", { element: (image) => void image.remove() })
    .transform(html);
}

/**
 * Returns the URL for the link `href` on the guide's page `name`. Undefined when the link names a
 * file that the server does not serve.
 */
function linkOf(href: string, name: string): string | undefined {
  if (/^https?:\/\//.test(href) || href.startsWith("#")) return href;
  const [path = "", anchor] = href.split("#");
  const target = join(dirname(`${name === "" ? "README" : name}.md`), path).replace(/\.md$/, "");
  const found = target === "README" ? "" : target;
  if (!guidePages.has(found)) return undefined;
  return hrefOf(found) + (anchor === undefined ? "" : `#${anchor}`);
}
