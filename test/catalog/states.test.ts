import { describe, expect, test } from "bun:test";
import { newId } from "../../src/catalog/ids.ts";
import type { Resource, Revision } from "../../src/catalog/model.ts";
import { begun, checkLinkable, published, removed, revised } from "../../src/catalog/states.ts";
import { refusalOf } from "./_setup.ts";

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
const draft = begun(first);
const live = published(draft, first);
const gone = removed(live);

describe("a state and a trigger give the next state", () => {
  const steps: [name: string, next: Resource, expected: Partial<Resource>][] = [
    ["(none) + create", draft, { newest: first.versionId, deleted: false }],
    ["draft + update", revised(draft, second), { newest: second.versionId, deleted: false }],
    ["draft + publish", live, { published: first.versionId }],
    ["draft + delete", removed(draft), { deleted: true }],
    [
      "published + update",
      revised(live, second),
      { newest: second.versionId, published: first.versionId },
    ],
    ["published + publish", published(live, second), { published: second.versionId }],
    ["published + delete", gone, { newest: first.versionId, deleted: true }],
    ["deleted + publish", published(gone, first), { published: first.versionId, deleted: false }],
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

describe("what has no next state is refused", () => {
  const steps: [name: string, trigger: () => unknown, refusal: string][] = [
    ["deleted + update", () => revised(gone, second), "missing"],
    ["deleted + delete", () => removed(gone), "missing"],
    ["deleted + connect", () => checkLinkable(gone), "missing"],
    ["draft + connect", () => checkLinkable(draft), "invalid"],
    ["another language", () => revised(draft, { ...second, language: "javascript" }), "invalid"],
    ["another workspace", () => revised(draft, { ...second, workspaceId: newId() }), "missing"],
    ["another's revision", () => published(draft, { ...second, id: newId() }), "missing"],
    ["another kind", () => published(draft, { ...second, kind: "library" }), "missing"],
  ];
  test.each(steps)("%s", async (_, trigger, refusal) => {
    expect((await refusalOf(trigger)).refusal).toBe(refusal as never);
  });
});

test("of two updates at once the later one is the newest, in whichever order they are stored", () => {
  const [early, late] = [second, { ...second, versionId: newId() }];
  expect(revised(revised(draft, early), late).newest).toBe(late.versionId);
  expect(revised(revised(draft, late), early).newest).toBe(late.versionId);
});

test("connecting what is published is allowed", () => {
  expect(() => checkLinkable(live)).not.toThrow();
});
