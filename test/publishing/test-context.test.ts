import { expect, test } from "bun:test";
import {
  CODE_UPDATES_OF_WORKSPACE_MAX,
  TEST_REQUESTS_MAX,
  TEST_REQUESTS_OF_WORKSPACE_MAX,
} from "../../src/settings/limits.ts";
import { code, freshPublishing, refusalOf, view } from "./_setup.ts";

test("requests that test code are bounded, by workspace first", async () => {
  const { catalog, workspaceId, publishing, sandbox } = await freshPublishing();
  const { promise: end, resolve } = Promise.withResolvers<void>();
  sandbox.meanwhile = () => end;
  const publish = (workspace: string) =>
    publishing.create(workspace, "transformation", code({ publish: true }));
  const under = Array.from({ length: TEST_REQUESTS_OF_WORKSPACE_MAX }, () => publish(workspaceId));
  const refused = await refusalOf(() => publish(workspaceId));
  expect(refused.refusal).toBe("unavailable");
  expect(refused.message).toBe(
    "Too many requests of this workspace test code now; send the request again",
  );
  while (under.length < TEST_REQUESTS_MAX) {
    const { id } = await catalog.workspaces.create("Other");
    const left = Math.min(TEST_REQUESTS_OF_WORKSPACE_MAX, TEST_REQUESTS_MAX - under.length);
    under.push(...Array.from({ length: left }, () => publish(id)));
  }
  const { id } = await catalog.workspaces.create("Last");
  expect((await refusalOf(() => publish(id))).message).toStartWith("Too many requests test code");
  // A draft tests nothing.
  await publishing.create(id, "transformation", code());
  resolve();
  await Promise.all(under);
  await publish(workspaceId);
});

test("a draft whose caller hangs up during the tests is not published", async () => {
  const house = await freshPublishing();
  const { workspaceId, publishing, sandbox } = house;
  const caller = new AbortController();
  sandbox.meanwhile = async () => caller.abort();
  const input = code({ publish: true, caller: caller.signal });
  await refusalOf(() => publishing.create(workspaceId, "transformation", input));
  expect(view(house)).toEqual([[], []]);
});

test("updates of one item that wait for each other are bounded by workspace, and run unless their caller hung up", async () => {
  const { catalog, workspaceId, publishing, sandbox } = await freshPublishing();
  const { resource } = await publishing.create(workspaceId, "transformation", code());
  const { promise: end, resolve } = Promise.withResolvers<void>();
  sandbox.meanwhile = () => end;
  const caller = new AbortController();
  const update = (more: object = {}) =>
    publishing.update(workspaceId, "transformation", resource.id, { publish: true, ...more });
  const hungUp = { code: "hung up", publish: false, caller: caller.signal };
  const waiting = Array.from({ length: CODE_UPDATES_OF_WORKSPACE_MAX }, (_, n) =>
    update(n === 1 ? hungUp : { code: `// ${n}` }),
  );
  const all = Promise.allSettled(waiting);
  const refused = await refusalOf(() => update());
  expect(refused.refusal).toBe("unavailable");
  expect(refused.message).toBe(
    "Too many requests of this workspace update code now; send the request again",
  );
  // Another workspace has its own bound.
  const { id: other } = await catalog.workspaces.create("Other");
  const item = await publishing.create(other, "transformation", code());
  const change = { code: "// new", publish: false };
  await publishing.update(other, "transformation", item.resource.id, change);
  caller.abort();
  resolve();
  const failed = (await all)
    .map(({ status }) => status)
    .flatMap((it, n) => (it === "rejected" ? [n] : []));
  expect(failed).toEqual([1]);
  await update();
  const options = { count: 1_000, order: "asc" as const };
  const stored = [...catalog.code.revisions(workspaceId, "transformation", resource.id, options)];
  expect(stored.map((revision) => revision.code)).not.toContain("hung up");
});
