import { expect, test } from "bun:test";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { destination, freshCatalog, freshDirectory, store } from "./_setup.ts";
import { contradictions } from "./consistency.ts";

const KILLS = 12;

test(`${KILLS} SIGKILLs during commits leave whole commits and lose no acknowledged one`, async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const transformation = await store(catalog, workspaceId, "transformation", { code: "0" });
  const library = await store(catalog, workspaceId, "library", { name: "lib", code: "0" });
  const one = await destination(catalog, workspaceId);
  const two = await destination(catalog, workspaceId);
  const committer = [directory, workspaceId, transformation.id, library.id, one, two];

  let acknowledged = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const lines = await killedAfter(committer, 1 + kill * 7);
    acknowledged += lines.length;
    for (const line of lines) {
      const [text, first, second] = line.split(" ") as [string, string, string];
      expect(catalog.code.revisionByVersion(workspaceId, "transformation", first).code).toBe(text);
      expect(catalog.code.revisionByVersion(workspaceId, "library", second).code).toBe(text);
    }
    expect(await contradictions(directory)).toEqual([]);
    expectTogether(catalog, workspaceId, transformation.id, library.id);
    // The survivor writes on at once.
    await catalog.sources.create(workspaceId, { name: `After ${kill}` });
  }
  expect(acknowledged).toBeGreaterThan(KILLS);
}, 300_000);

/** Both halves of the last commit are there, or neither. */
function expectTogether(catalog: Catalog, workspaceId: string, user: string, library: string) {
  const published = (kind: "transformation" | "library", id: string) =>
    catalog.code.publishedRevision(workspaceId, kind, id).revision.code;
  expect(published("transformation", user)).toBe(published("library", library));
  const options = { count: 100_000, order: "asc" as const };
  const versions = (kind: "transformation" | "library", id: string) =>
    [...catalog.code.revisions(workspaceId, kind, id, options)].map(({ code }) => code);
  const texts = versions("transformation", user);
  expect(versions("library", library)).toEqual(texts);
  expect(catalog.code.linkedDestinations(workspaceId, user).length).toBeGreaterThan(0);
}

/** Starts a committer, kills it after it wrote `lines` lines, and returns every whole line. */
async function killedAfter(args: string[], lines: number): Promise<string[]> {
  const script = `${import.meta.dir}/children/committer.ts`;
  const child = Bun.spawn([process.execPath, script, ...args], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of child.stdout) {
    text += decoder.decode(bytes, { stream: true });
    if (text.split("\n").length > lines) child.kill("SIGKILL");
  }
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  return text.split("\n").slice(0, -1);
}
