import { expect } from "bun:test";
import fc from "fast-check";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { CodeChange } from "../../src/catalog/code/code-changes.ts";
import type { CodeKind, Revision } from "../../src/catalog/model.ts";
import { ApiError } from "../../src/errors.ts";
import type { Item, Model, Refused, Thing } from "./model.ts";

export interface Real {
  catalog: Catalog;
  workspaceId: string;
}
type Command = fc.AsyncCommand<Model, Real>;

const importNames = ["a", "b"];

async function refusal(verb: () => Promise<unknown>): Promise<Refused> {
  try {
    await verb();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return "stale" in error ? "stale" : (error.refusal as Refused);
  }
}

const pick = <T>(items: readonly T[], index: number): T => items[index % items.length]!;

/** A command on a thing that exists; others are skipped. */
function on(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: (model) => model.things.length > 0,
    run: async (model, real) => {
      await run(model, real);
      compare(model, real);
    },
    toString: () => name,
  };
}

const create = (kind: CodeKind, name: string): Command => ({
  check: (model) => model.things.length < 6,
  async run(model, real) {
    const { catalog, workspaceId } = real;
    const input = { name, code: name, language: "javascript" as const };
    const revision = catalog.code.draft(workspaceId, kind, input);
    await catalog.code.commit(workspaceId, changeOf({ revisions: [revision] }));
    expect(model.add(revision)).toBeUndefined();
    compare(model, real);
  },
  toString: () => `create ${kind} ${name}`,
});

const update = (index: number, code: string, publish: boolean): Command =>
  on(`update ${index}${publish ? " and publish" : ""}`, async (model, { catalog, workspaceId }) => {
    const thing = pick(model.things, index);
    const { kind, id } = thing;
    let revision: Revision;
    try {
      revision = catalog.code.revise(workspaceId, kind, id, { code });
    } catch (error) {
      expect([(error as ApiError).refusal, thing.deleted]).toEqual(["missing", true]);
      return;
    }
    const item: Item = { thing, versionId: revision.versionId, imports: [] };
    const items = publish ? [item] : [];
    const tested = model.importers(thing).map((it) => ({ versionId: it.published! }));
    const change = changeOf({
      revisions: [revision],
      publish: items.map(published),
      testedImporters: tested,
    });
    const real = await refusal(() => catalog.code.commit(workspaceId, change));
    const expected = model.publish(items, new Set(tested.map(({ versionId }) => versionId)));
    expect(real).toBe(expected);
    if (expected === undefined) expect(model.add(revision)).toBeUndefined();
  });

interface Choice {
  index: number;
  version: number;
  imports: string[];
}

/** `looked`: at the libraries of now; `tested`: what imports the libraries that are published. */
const publishMany = (choices: Choice[], looked: boolean, tested: boolean): Command =>
  on(`publish ${JSON.stringify(choices)} ${looked} ${tested}`, async (model, real) => {
    const { catalog, workspaceId } = real;
    const things = new Map(choices.map((choice) => [pick(model.things, choice.index), choice]));
    const items = [...things].map(([thing, { version, imports }]): Item => {
      const { versionId } = pick(thing.versions, version);
      return { thing, versionId, imports: thing.kind === "transformation" ? imports : [] };
    });
    const libraries = importNames.flatMap((importName) => {
      const versionId = model.library(importName)?.published;
      return versionId ? [{ importName, language: "javascript" as const, versionId }] : [];
    });
    const importers = items.flatMap(({ thing }) => model.importers(thing));
    const change = changeOf({
      publish: items.map(published),
      usedLibraries: looked ? libraries : [],
      testedImporters: tested ? importers.map((it) => ({ versionId: it.published! })) : [],
    });
    const refused = await refusal(() => catalog.code.commit(workspaceId, change));
    const checked = [...change.usedLibraries, ...(change.testedImporters ?? [])].map(
      (it) => it.versionId,
    );
    expect(refused).toBe(model.publish(items, new Set(checked)));
  });

/** A check that saw another version of a library than the one that is published. */
const publishStale = (index: number): Command =>
  on(`publish stale ${index}`, async (model, { catalog, workspaceId }) => {
    const thing = pick(model.things, index);
    const { versionId } = thing.versions[0]!;
    const usedLibraries = importNames.map((importName) => {
      const live = model.library(importName);
      const other = live?.versions.find((it) => it.versionId !== live.published);
      return { importName, language: "javascript" as const, versionId: other?.versionId ?? "gone" };
    });
    const item = published({ thing, versionId, imports: [] });
    const change = changeOf({ publish: [item], usedLibraries });
    expect(await refusal(() => catalog.code.commit(workspaceId, change))).toBe("stale");
  });

const link = (index: number, at: number): Command =>
  on(`link ${index} to ${at}`, async (model, { catalog, workspaceId }) => {
    const thing = pick(model.things, index);
    const destination = pick(model.destinations, at);
    const refused = await refusal(() => catalog.code.link(workspaceId, thing.id, destination));
    expect(refused).toBe(thing.kind === "library" ? "missing" : model.link(thing, destination));
  });

const unlink = (index: number, at: number): Command =>
  on(`unlink ${index} from ${at}`, async (model, { catalog, workspaceId }) => {
    const thing = pick(model.things, index);
    const destination = pick(model.destinations, at);
    const refused = await refusal(() => catalog.code.unlink(workspaceId, thing.id, destination));
    expect(refused).toBe(thing.kind === "library" ? "missing" : model.unlink(thing, destination));
  });

const remove = (index: number): Command =>
  on(`remove ${index}`, async (model, { catalog, workspaceId }) => {
    const thing = pick(model.things, index);
    const { kind, id } = thing;
    const refused = await refusal(() => catalog.code.remove(workspaceId, kind, id));
    expect(refused).toBe(model.remove(thing));
  });

/** A library that one of two published transformations imports. */
export const beginning: Command[] = [
  create("library", "a"),
  create("transformation", "x"),
  create("transformation", "y"),
  publishMany(
    [0, 1, 2].map((index) => ({ index, version: 0, imports: index === 1 ? ["a"] : [] })),
    true,
    true,
  ),
];

const index = fc.nat(11);
const mostly = fc.nat(4).map((value) => value > 0);
const choice = fc.record({
  index,
  version: index,
  imports: fc.subarray(importNames),
});

export const commands: fc.Arbitrary<Command>[] = [
  fc.constantFrom("a", "b").map((name) => create("library", name)),
  fc.constantFrom("x", "y").map((name) => create("transformation", name)),
  fc.tuple(index, fc.string({ maxLength: 3 }), fc.boolean()).map((given) => update(...given)),
  fc
    .tuple(fc.array(choice, { minLength: 1, maxLength: 3 }), mostly, mostly)
    .map((given) => publishMany(...given)),
  index.map(publishStale),
  fc.tuple(index, fc.nat(2)).map((given) => link(...given)),
  fc.tuple(index, fc.nat(2)).map((given) => unlink(...given)),
  index.map(remove),
];

/** Everything that can be read is what the model says. */
function compare(model: Model, { catalog, workspaceId }: Real): void {
  const { code, live, destinations } = catalog;
  for (const thing of model.things) {
    const { kind, id, versions } = thing;
    const { published: now, deleted, newest } = code.resource(workspaceId, kind, id);
    expect([now, deleted, newest]).toEqual([
      thing.published,
      thing.deleted,
      versions.at(-1)!.versionId,
    ]);
    const options = { count: 1_000, order: "asc" as const };
    expect([...code.revisions(workspaceId, kind, id, options)]).toEqual(versions);
    if (kind === "library" || deleted) continue;
    const linked = [...model.links].filter(([, other]) => other === thing).map(([to]) => to);
    expect(code.linkedDestinations(workspaceId, id).map((to) => to.id)).toEqual(linked);
  }
  for (const kind of ["transformation", "library"] as const) {
    const expected = model.things.filter((it) => it.kind === kind && it.published !== undefined);
    const actual = [...code.listPublished(workspaceId, kind)].map(
      ({ revision }) => revision.versionId,
    );
    expect(actual).toEqual(expected.map((it) => it.published!));
  }
  for (const importName of importNames) {
    const owner = model.library(importName)?.published;
    const found = code.libraryByImportName(workspaceId, "javascript", importName);
    expect(found?.versionId).toBe(owner);
  }
  for (const destination of model.destinations) {
    const thing = model.links.get(destination);
    expect(code.linkedTransformation(destinations.get(workspaceId, destination))).toBe(thing?.id);
    const program = live.program(destination);
    expect(program?.transformation.versionId).toBe(thing?.published);
    expect(program?.libraries.map(({ versionId }) => versionId)).toEqual(
      thing && librariesOf(model, thing),
    );
  }
}

function librariesOf(model: Model, thing: Thing): string[] {
  return thing.imports
    .map((name) => model.library(name)?.published)
    .filter((versionId) => versionId !== undefined);
}

function published({
  thing: { kind, id },
  versionId,
  imports,
}: Item): CodeChange["publish"][number] {
  return { kind, id, versionId, imports };
}

function changeOf(change: Partial<CodeChange>): CodeChange {
  return { revisions: [], publish: [], links: [], usedLibraries: [], ...change };
}
