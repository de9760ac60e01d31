import type { Client } from "../../api/client.ts";
import { type CaseContent, type CodeContent, caseText, pathOf } from "./code-item.ts";
import { readServerItem, type ServerCode } from "./server-code.ts";

/**
 * Stores `content` in the transformation or library (the item) that the caller has read as
 * `server`; undefined creates a new item. Returns the item's new state, in which changed code is
 * not published. Rejects if others have changed the item since.
 */
export async function applyContent(
  client: Client,
  content: CodeContent,
  server: ServerCode | undefined,
): Promise<ServerCode> {
  const { kind, name, description, language, code, tests } = content;
  const body = { name, description, language, code };
  const id = server?.id ?? (await client.call(`POST /${pathOf(kind)}`, { body })).id;
  if (server !== undefined && isRevisionNeeded(content, server.content)) {
    const request = { params: { id }, ifMatch: server.tag, body };
    await client.call(`POST /${pathOf(kind)}/{id}`, request);
  }
  await applyTests(client, id, tests, server?.tests ?? []);
  return readServerItem(client, kind, id);
}

function isRevisionNeeded(content: CodeContent, before: CodeContent): boolean {
  return (["name", "description", "language", "code"] as const).some(
    (key) => content[key] !== before[key],
  );
}

/**
 * Makes the test cases of a transformation on the server equal to `wanted`. A test case replaces
 * the one with the same name. Test cases that `wanted` lacks are deleted.
 */
async function applyTests(
  client: Client,
  id: string,
  wanted: readonly CaseContent[],
  known: ServerCode["tests"],
): Promise<void> {
  const left = [...known];
  const take = (fits: (it: CaseContent) => boolean) => {
    const at = left.findIndex(({ content }) => fits(content));
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const changed = wanted.filter((it) => !take((other) => caseText(other) === caseText(it)));
  const pairs = changed.map((body) => ({ body, other: take(({ name }) => name === body.name) }));
  // Deletions come first, so that a transformation with the maximum of test cases takes new ones.
  for (const other of left) {
    await client.call("DELETE /v2/transformations/{id}/test-cases/{caseId}", {
      params: { id, caseId: other.id },
      ifMatch: `"${other.versionId}"`,
    });
  }
  for (const { body, other } of pairs) {
    if (other === undefined) {
      await client.call("POST /v2/transformations/{id}/test-cases", { params: { id }, body });
      continue;
    }
    await client.call("PUT /v2/transformations/{id}/test-cases/{caseId}", {
      params: { id, caseId: other.id },
      ifMatch: `"${other.versionId}"`,
      body,
    });
  }
}

/**
 * Publishes the newest revisions of all items in `codes`, or publishes nothing. Returns an empty
 * list if the server published them, and otherwise sentences that say why it refused.
 */
export async function publishAll(client: Client, codes: readonly ServerCode[]): Promise<string[]> {
  const versions = (kind: CodeContent["kind"]) =>
    codes.filter(({ content }) => content.kind === kind).map(({ versionId }) => versionId);
  const answer = await client.call("POST /transformations/publish", {
    ifMatch: codes.map(({ tag }) => tag).join(", "),
    body: { transformations: versions("transformation"), libraries: versions("library") },
  });
  if (answer.published) return [];
  const { libraries = [], transformations = [] } = answer.validationOutput ?? {};
  const failed = [...libraries, ...transformations].filter(({ pass }) => !pass);
  const reasons = failed.map(({ name, message = "a test failed" }) => `${name}: ${message}`);
  return reasons.length > 0 ? reasons : [answer.message ?? "The server did not publish"];
}
