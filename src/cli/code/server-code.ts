import type { Client } from "../../api/client.ts";
import { type CaseContent, type CodeContent, pathOf, sortedTests } from "./code-item.ts";

/** Number of transformations or libraries that are read from the server at the same time. */
const READS_AT_ONCE = 8;
const PAGE_ROWS = 100;

/** A transformation or library of the server in its newest revision, published or not. */
export interface ServerCode {
  id: string;
  versionId: string;
  isPublished: boolean;
  /**
   * ETag of the transformation or library when it was read. Requests that change the item send this
   * ETag, so that the server refuses the change if others have changed the item since.
   */
  tag: string | undefined;
  content: CodeContent;
  /** Test cases with their ids and versions on the server, in the order of `content.tests`. */
  tests: { id: string; versionId: string; content: CaseContent }[];
}

/** Reads the workspace's libraries, then transformations, with their test cases. */
export async function readServerCode(client: Client): Promise<ServerCode[]> {
  const found: ServerCode[] = [];
  for (const kind of ["library", "transformation"] as const) {
    const ids = await idsOf(client, kind);
    for (let at = 0; at < ids.length; at += READS_AT_ONCE) {
      const part = ids.slice(at, at + READS_AT_ONCE);
      found.push(...(await Promise.all(part.map((id) => readServerItem(client, kind, id)))));
    }
  }
  return found;
}

async function idsOf(client: Client, kind: CodeContent["kind"]): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page++) {
    const query = { kind, page, count: PAGE_ROWS };
    const { code, total } = await client.call("GET /v2/code", { query });
    ids.push(...code.map(({ id }) => id));
    if (ids.length >= total || code.length === 0) return ids;
  }
}

/** Reads one transformation or library, with its test cases and its ETag. */
export async function readServerItem(
  client: Client,
  kind: CodeContent["kind"],
  id: string,
): Promise<ServerCode> {
  const params = { id };
  const [{ answer, tag }, { testCases }] = await Promise.all([
    client.callTagged(`GET /${pathOf(kind)}/{id}`, { params, query: { draft: true } }),
    kind === "library"
      ? { testCases: [] }
      : client.call("GET /v2/transformations/{id}/test-cases", { params }),
  ]);
  const tests = testCases.map(({ id, versionId, name, description, input, expectedOutput }) => {
    // JSON leaves out undefined values.
    const content = { name, description, input, expectedOutput } as CaseContent;
    return { id, versionId, content };
  });
  const { versionId, name, description, language, code, isPublished } = answer;
  const family = language === "javascript" ? "javascript" : "python";
  const order = sortedTests(tests.map(({ content }) => content));
  return {
    id,
    versionId,
    isPublished,
    tag,
    content: { kind, name, description, language: family, code, tests: order },
    tests: order.map((content) => tests.find((it) => it.content === content)!),
  };
}
