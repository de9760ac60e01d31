import { expect, test } from "bun:test";
import { TEST_CASES_BYTES_MAX, TEST_CASES_MAX } from "../../src/catalog/limits.ts";
import { MemoryLog } from "../store/memory-log.ts";
import {
  freshCatalog,
  freshDirectory,
  freshWorkspace,
  publish,
  refusalOf,
  store,
} from "./_setup.ts";

const input = [{ type: "track" }];

test("test cases of a transformation are listed oldest first and survive a restart", async () => {
  const directory = await freshDirectory();
  const before = await freshCatalog(directory);
  const { id: workspaceId } = await before.workspaces.create("Acme");
  const { id } = await store(before, workspaceId, "transformation");
  const first = await before.testCases.add(workspaceId, id, { name: " One ", input });
  const expectedOutput = [{ type: "page" }];
  const second = { name: "Two", description: "d", input, expectedOutput };
  await before.testCases.add(workspaceId, id, second);
  expect(before.testCases.list(workspaceId, id)).toMatchObject([{ name: "One", input }, second]);
  const changed = await before.testCases.replace(workspaceId, id, first.id, { name: "New", input });
  expect(changed).toMatchObject({ id: first.id, name: "New", createdAt: first.createdAt });
  expect(changed.versionId > first.versionId).toBe(true);
  const listed = before.testCases.list(workspaceId, id);
  await before.close();
  const after = await freshCatalog(directory);
  expect(after.testCases.list(workspaceId, id)).toEqual(listed);
  await after.testCases.remove(workspaceId, id, first.id);
  expect(after.testCases.list(workspaceId, id)).toMatchObject([second]);
});

test("test cases belong to a transformation of their own workspace", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const other = (await catalog.workspaces.create("Other")).id;
  const { id } = await store(catalog, workspaceId, "transformation");
  const library = await store(catalog, workspaceId, "library");
  const { testCases } = catalog;
  const added = await testCases.add(workspaceId, id, { name: "One", input });
  for (const find of [
    () => testCases.list(other, id),
    () => testCases.list(workspaceId, library.id),
    () => testCases.get(workspaceId, id, "nope"),
    () => testCases.get(workspaceId, id, id),
    () => testCases.add(other, id, { name: "One", input }),
    () => testCases.replace(other, id, added.id, { name: "One", input }),
    () => testCases.remove(other, id, added.id),
  ]) {
    expect((await refusalOf(find)).refusal).toBe("missing");
  }
  expect(testCases.list(workspaceId, id)).toEqual([added]);
});

test("a refused condition changes nothing", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { testCases } = catalog;
  const { id } = await store(catalog, workspaceId, "transformation");
  const added = await testCases.add(workspaceId, id, { name: "One", input });
  const refuse = () => {
    throw new Error("other version");
  };
  const changes: (() => Promise<unknown>)[] = [
    () => testCases.replace(workspaceId, id, added.id, { name: "Two", input }),
    () => testCases.remove(workspaceId, id, added.id),
  ];
  for (const change of changes) {
    await expect(catalog.conditionally(refuse, change)).rejects.toThrow("other version");
  }
  expect(testCases.list(workspaceId, id)).toEqual([added]);
});

test("test cases stay with a transformation that is deleted and published again", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const revision = await store(catalog, workspaceId, "transformation");
  const { id } = revision;
  await publish(catalog, revision);
  await catalog.testCases.add(workspaceId, id, { name: "One", input });
  await catalog.code.remove(workspaceId, "transformation", id);
  const list = () => catalog.testCases.list(workspaceId, id);
  expect((await refusalOf(list)).refusal).toBe("missing");
  await publish(catalog, revision);
  expect(list()).toMatchObject([{ name: "One" }]);
});

test("the number and the size of the test cases of a transformation are bounded", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { testCases } = catalog;
  const { id } = await store(catalog, workspaceId, "transformation");
  const { id: large } = await store(catalog, workspaceId, "transformation");
  for (let count = 0; count < TEST_CASES_MAX; count++) {
    await testCases.add(workspaceId, id, { name: "Case", input });
  }
  const more = await refusalOf(() => testCases.add(workspaceId, id, { name: "Case", input }));
  expect([more.refusal, more.message]).toEqual([
    "conflict",
    `Expected at most ${TEST_CASES_MAX} test cases of a transformation, got one more`,
  ]);
  // A full list can still be changed.
  const [first] = testCases.list(workspaceId, id);
  await testCases.replace(workspaceId, id, first!.id, { name: "Changed", input });

  const half = [{ text: "x".repeat(TEST_CASES_BYTES_MAX / 2) }];
  await testCases.add(workspaceId, large, { name: "One", input: half });
  const big = await refusalOf(() =>
    testCases.add(workspaceId, large, { name: "Two", input: half }),
  );
  expect(big.message).toContain(`Expected test cases of at most ${TEST_CASES_BYTES_MAX} bytes`);
  expect(testCases.list(workspaceId, large)).toHaveLength(1);
});

test("every node of a cluster has the test cases that the others added", async () => {
  const log = new MemoryLog({ delayMs: () => 0 });
  const one = await freshCatalog(undefined, log);
  const two = await freshCatalog(undefined, log);
  const { id: workspaceId } = await one.workspaces.create("Acme");
  const { id } = await store(one, workspaceId, "transformation");
  await two.current();
  await Promise.all([
    one.testCases.add(workspaceId, id, { name: "One", input }),
    two.testCases.add(workspaceId, id, { name: "Two", input }),
  ]);
  await Promise.all([one.current(), two.current()]);
  const listed = one.testCases.list(workspaceId, id);
  expect(listed.map(({ name }) => name).sort()).toEqual(["One", "Two"]);
  expect(two.testCases.list(workspaceId, id)).toEqual(listed);
});
