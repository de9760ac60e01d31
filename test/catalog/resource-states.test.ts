import { describe, expect, test } from "bun:test";
import {
  asDeleted,
  checkLinkable,
  newDraft,
  withPublished,
  withRevision,
} from "../../src/catalog/code/resource-states.ts";
import { newId } from "../../src/catalog/ids.ts";
import type { Resource, Revision } from "../../src/catalog/model.ts";
import { isDraft } from "../../src/catalog/tables/code-tables.ts";
import { freshWorkspace, publish, refusalOf, store } from "./_setup.ts";

const first: Revision = {
  kind: "transformation",
  id: newId(),
  versionId: newId(),
  workspaceId: newId(),
  name: "Mine",
  description: "",
  code: "",
  language: "python",
  createdAt: 1,
};
const second: Revision = { ...first, versionId: newId(), createdAt: 2 };
const draft = newDraft(first);
const live = withPublished(draft, first);
const gone = asDeleted(live);

describe("a state and a trigger give the next state", () => {
  const steps: [name: string, next: Resource, expected: Partial<Resource>][] = [
    ["(none) + create", draft, { newest: first.versionId, deleted: false }],
    ["draft + update", withRevision(draft, second), { newest: second.versionId, deleted: false }],
    ["draft + publish", live, { published: first.versionId }],
    ["draft + delete", asDeleted(draft), { deleted: true }],
    [
      "published + update",
      withRevision(live, second),
      { newest: second.versionId, published: first.versionId },
    ],
    ["published + publish", withPublished(live, second), { published: second.versionId }],
    ["published + delete", gone, { newest: first.versionId, deleted: true }],
    [
      "deleted + publish",
      withPublished(gone, first),
      { published: first.versionId, deleted: false },
    ],
  ];
  test.each(steps)("%s", (_, next, expected) => {
    const { newest, published: version, deleted } = next;
    expect({ newest, published: version, deleted }).toEqual({
      newest: first.versionId,
      published: undefined,
      deleted: false,
      ...expected,
    });
  });
});

describe("a trigger without a next state is refused", () => {
  const steps: [name: string, trigger: () => unknown, refusal: string][] = [
    ["deleted + update", () => withRevision(gone, second), "missing"],
    ["deleted + delete", () => asDeleted(gone), "missing"],
    ["deleted + connect", () => checkLinkable(gone), "missing"],
    ["draft + connect", () => checkLinkable(draft), "invalid"],
    [
      "another language",
      () => withRevision(draft, { ...second, language: "javascript" }),
      "invalid",
    ],
    [
      "another workspace",
      () => withRevision(draft, { ...second, workspaceId: newId() }),
      "missing",
    ],
    ["another's revision", () => withPublished(draft, { ...second, id: newId() }), "missing"],
    ["another kind", () => withPublished(draft, { ...second, kind: "library" }), "missing"],
  ];
  test.each(steps)("%s", async (_, trigger, refusal) => {
    expect((await refusalOf(trigger)).refusal).toBe(refusal as never);
  });
});

test("the later of two concurrent updates is the newest in either order of storing", () => {
  const [early, late] = [second, { ...second, versionId: newId() }];
  expect(withRevision(withRevision(draft, early), late).newest).toBe(late.versionId);
  expect(withRevision(withRevision(draft, late), early).newest).toBe(late.versionId);
});

test("a published transformation may be linked", () => {
  expect(() => checkLinkable(live)).not.toThrow();
});

test("code is a draft until it is published, and not once it is deleted", () => {
  expect([draft, withRevision(draft, second), live, gone].map(isDraft)).toEqual([
    ...[true, true, false, false],
  ]);
  expect(isDraft(asDeleted(draft))).toBe(false);
});

test("deleted code makes room for other code, and is no published library", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const library = await store(catalog, workspaceId, "library", { name: "Tools" });
  await publish(catalog, library);
  expect(catalog.routing.publishedLibraries(workspaceId)).toEqual([library.versionId]);
  catalog.setItemsMax({ libraries: 1 });
  await expect(store(catalog, workspaceId, "library")).rejects.toThrow("libraries");
  await catalog.code.remove(workspaceId, "library", library.id);
  expect(catalog.routing.publishedLibraries(workspaceId)).toEqual([]);
  await store(catalog, workspaceId, "library");
});
