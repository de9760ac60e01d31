import { afterAll, beforeEach, expect, test } from "bun:test";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import { hasty, testSandbox } from "../sandbox/support.ts";
import { freshTransformer } from "./_setup.ts";

/** Two workspaces whose code, libraries and credentials have the same names. */
const sandbox = testSandbox({ limits: hasty });
let house: Awaited<ReturnType<typeof freshTransformer>>;
let mine: Published;
let theirs: Published;
interface Published {
  workspaceId: string;
  versionId: string;
  libraryVersionId: string;
}

const code = `import { whose } from "sharedName";
export function transformEvent(event) {
  if (event.loops) while (true);
  globalThis.seen = (globalThis.seen ?? 0) + 1;
  return { whose: whose(), key: getCredential("key"), theirs: getCredential("onlyTheirs") ?? "none" };
}`;

beforeEach(async () => {
  house = await freshTransformer({ sandbox });
  const other = await house.catalog.workspaces.create("Other");
  mine = await publishIn(house.workspaceId, "mine");
  theirs = await publishIn(other.id, "theirs");
  await house.catalog.credentials.put(other.id, "onlyTheirs", "hidden");
});
afterAll(() => sandbox.close());

async function publishIn(workspaceId: string, whose: string): Promise<Published> {
  const publishing = createPublisher({ catalog: house.catalog, sandbox });
  await house.catalog.credentials.put(workspaceId, "key", `key of ${whose}`);
  const create = async (kind: "transformation" | "library", name: string, text: string) => {
    const input = { name, language: "javascript" as const, publish: true, code: text };
    return (await publishing.create(workspaceId, kind, input)).revision.versionId;
  };
  const text = `export const whose = () => ${JSON.stringify(whose)};`;
  const libraryVersionId = await create("library", "Shared name", text);
  return { workspaceId, libraryVersionId, versionId: await create("transformation", "T", code) };
}

const item = (
  versionId: string,
  metadata: unknown,
  more: { message?: object; libraries?: unknown; credentials?: unknown } = {},
) => ({
  message: { messageId: "m" },
  metadata,
  destination: { Transformations: [{ VersionID: versionId }] },
  ...more,
});
const of = ({ workspaceId }: Published) => ({ workspaceId, messageId: "m" });
const outputs = (body: any[]) => body.map((it) => it.output ?? it.statusCode);

const ofMine = { whose: "mine", key: "key of mine", theirs: "none" };
const ofTheirs = { whose: "theirs", key: "key of theirs", theirs: "hidden" };

test("items of several workspaces in one request run with the code of each", async () => {
  const { body } = await house.send([
    item(mine.versionId, of(mine)),
    item(theirs.versionId, of(theirs)),
    item(mine.versionId, of(mine)),
  ]);
  expect(outputs(body)).toEqual([ofMine, ofTheirs, ofMine]);
});

test("a version of another workspace is not found", async () => {
  const { body } = await house.send([
    item(theirs.versionId, of(mine)),
    item(mine.versionId, of(theirs)),
  ]);
  expect(outputs(body)).toEqual([404, 404]);
  expect(body.every((it: any) => !it.error.includes("export"))).toBe(true);
});

test("a library of another workspace is not imported, whoever names its version", async () => {
  const libraries = [{ VersionID: theirs.libraryVersionId }];
  const { body } = await house.send([item(mine.versionId, of(mine), { libraries })]);
  expect(outputs(body)).toEqual([ofMine]);
});

test("credentials of a request are those of its items alone, and of no later request", async () => {
  const credentials = [{ id: "1", key: "onlyTheirs", value: "sent", isSecret: true }];
  const { body } = await house.send([
    item(mine.versionId, of(mine), { credentials }),
    item(mine.versionId, of(mine)),
    item(theirs.versionId, of(theirs)),
  ]);
  expect(outputs(body)).toEqual([{ ...ofMine, theirs: "sent" }, ofMine, ofTheirs]);
});

test("an item whose metadata name no workspace finds no code", async () => {
  const unnamed = [undefined, null, [], "w", {}, { workspaceId: null }, { workspaceId: 7 }];
  const all = [...unnamed, { workspaceId: "" }, { workspaceID: mine.workspaceId }];
  const { body } = await house.send(all.map((metadata) => item(mine.versionId, metadata)));
  expect(outputs(body)).toEqual(all.map(() => 404));
});

test("code that loops in one workspace fails no event of another", async () => {
  const loops = item(mine.versionId, of(mine), { message: { loops: true } });
  const looping = house.send([loops, loops]);
  const { body } = await house.send([item(theirs.versionId, of(theirs))]);
  expect(outputs(body)).toEqual([ofTheirs]);
  expect(outputs((await looping).body)).toEqual([400, 400]);
});
