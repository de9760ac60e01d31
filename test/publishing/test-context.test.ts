import { expect, test } from "bun:test";
import { TEST_REQUESTS_MAX, TEST_REQUESTS_OF_WORKSPACE_MAX } from "../../src/settings/limits.ts";
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
