import { expect, test } from "bun:test";
import { RoutedResources } from "../../../src/api/config-backend/routed-resources.ts";
import { numbersTo } from "../../pipeline/rig.ts";

/** A catalog with this number of sources, and resources that read it. */
function setUp(count: number) {
  const sources = numbersTo(count).map((n) => ({
    ...{ id: `s${n}`, workspaceId: "w", name: `S${n}`, type: "t", enabled: true, config: {} },
    ...{ writeKey: `k${n}`, createdAt: 0, updatedAt: 0 },
  }));
  const resources = new RoutedResources(
    {
      catalog: {
        sources: { each: () => sources },
        destinations: { each: () => [] },
      },
      definitions: { source: () => ({ name: "t", type: "t", category: "c" }) },
      slicer: {
        run: async <T>(work: () => T) => work(),
        each: async <T>(items: T[], work: (item: T) => void) => items.forEach(work),
      },
    } as never,
    "w",
  );
  return { sources, resources };
}

const namesOf = async (resources: RoutedResources) =>
  (await resources.pieces()).map(({ source }) => JSON.parse(Buffer.from(source).toString()).name);

test.each([0, 1, 51])("all of %d sources are read", async (count) => {
  const { sources, resources } = setUp(count);
  await resources.readAll();
  expect(await namesOf(resources)).toEqual(sources.map(({ name }) => name));
});

test("a source is made again when it changed, and is gone when it was deleted", async () => {
  const { sources, resources } = setUp(3);
  await resources.readAll();
  const before = await resources.pieces();
  sources[1] = { ...sources[1]!, name: "new", updatedAt: 1 };
  sources.splice(2, 1);
  await resources.readSome([]);
  expect(await namesOf(resources)).toEqual(["S0", "new"]);
  const [kept, changed] = await resources.pieces();
  expect(kept).toBe(before[0]!);
  expect(changed!.hash).not.toBe(before[1]!.hash);
});
