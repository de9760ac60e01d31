import { join } from "node:path";
import { open } from "lmdb";
import { Packr } from "msgpackr";
import { familyOf, isImportName } from "../../src/catalog/import-name.ts";
import type { Connection, Publication, Resource, Revision } from "../../src/catalog/model.ts";

type Row = { key: any; value: any };

/**
 * Reads every table of a catalog, past its own reads, and lists what contradicts something else:
 * an index that points nowhere, a thing without its index, a rule of the states broken.
 */
export async function contradictions(directory: string): Promise<string[]> {
  const encoder = new Packr({ useRecords: false });
  const root = open({ path: join(directory, "catalog.mdb"), maxDbs: 48, encoder, readOnly: true });
  const table = (name: string): Row[] => {
    const options = { name, encoder };
    return [...(root.openDB(options)?.getRange({}) ?? [])] as Row[];
  };
  const found = [...inCode(table), ...inManagement(table)];
  await root.close();
  return found;
}

type Tables = (name: string) => Row[];

function inCode(table: Tables): string[] {
  const found: string[] = [];
  const expectSame = comparer(found);
  const resources = table("resources").map(({ value }) => value as Resource);
  const revisions = new Map(table("revisions").map(({ key, value }) => [key, value as Revision]));
  const publications = new Map(
    table("publications").map(({ key, value }) => [key, value as Publication]),
  );
  const live = resources.filter(({ published }) => published !== undefined);
  const byId = new Map(resources.map((resource) => [resource.id, resource]));

  for (const { id, newest, published, deleted, kind, workspaceId } of resources) {
    const own = [...revisions.values()].filter((revision) => revision.id === id);
    const last = own
      .map(({ versionId }) => versionId)
      .sort()
      .at(-1);
    if (last !== newest) found.push(`${id}: newest is not the last revision`);
    if (published !== undefined && !own.some(({ versionId }) => versionId === published)) {
      found.push(`${id}: published is no revision of it`);
    }
    if (deleted && published !== undefined) found.push(`${id}: deleted and published`);
    if (own.some((revision) => revision.kind !== kind || revision.workspaceId !== workspaceId)) {
      found.push(`${id}: a revision of another kind or workspace`);
    }
  }
  for (const [versionId, { id }] of revisions) {
    if (!byId.has(id)) found.push(`${versionId}: revision of nothing`);
  }
  expectSame(
    "revisions-by-resource",
    table("revisions-by-resource").map(({ key }) => key.join()),
    [...revisions.values()].map(({ id, versionId }) => [id, versionId].join()),
  );
  expectSame(
    "publications",
    [...publications].map(([id, { versionId }]) => [id, versionId].join()),
    live.map(({ id, published }) => [id, published].join()),
  );
  expectSame(
    "published-by-workspace",
    table("published-by-workspace").map(({ key }) => key.join()),
    live.map(({ workspaceId, kind, id }) => [workspaceId, kind, id].join()),
  );
  expectSame(
    "libraries-by-import-name",
    table("libraries-by-import-name").map(({ key, value }) => [...key, value].join()),
    live.flatMap(({ kind, workspaceId, language, published, id }) => {
      const name = revisions.get(published!)?.importName;
      return kind === "library" ? [[workspaceId, familyOf(language), name, id].join()] : [];
    }),
  );
  expectSame(
    "importers-by-import-name",
    table("importers-by-import-name").map(({ key }) => key.join()),
    live.flatMap(({ workspaceId, language, id }) => {
      const imports = publications.get(id)?.imports.filter(isImportName) ?? [];
      return imports.map((name) => [workspaceId, familyOf(language), name, id].join());
    }),
  );
  const links = table("links");
  expectSame(
    "links-by-transformation",
    table("links-by-transformation").map(({ key, value }) => [...key, value].join()),
    links.map(({ key, value }) => [value.transformationId, value.order, key].join()),
  );
  const destinations = new Set(table("destinations").map(({ key }) => key));
  for (const { key, value } of links) {
    if (!destinations.has(key)) found.push(`${key}: a link of no destination`);
    if (byId.get(value.transformationId)?.published === undefined) {
      found.push(`${key}: linked to what is not published`);
    }
  }
  return found;
}

function inManagement(table: Tables): string[] {
  const found: string[] = [];
  const owned = ["members", "tokens", "credentials", "sources", "destinations", "connections"];
  for (const name of owned) {
    const items = table(name).map(({ key, value }) => [value.workspaceId, key].join());
    const order = new Set(table(`${name}-order`).map(({ key }) => key.join()));
    if (new Set(items).symmetricDifference(order).size > 0) found.push(`${name}-order`);
  }
  const expectSame = comparer(found);
  const tokens = table("tokens").map(({ value }) => value);
  expectSame(
    "tokens-by-hash",
    table("tokens-by-hash").map(({ key, value }) => [key, value].join()),
    tokens.map(({ hash, id }) => [hash, id].join()),
  );
  expectSame(
    "tokens-by-member",
    table("tokens-by-member").map(({ key }) => key.join()),
    tokens.flatMap(({ memberId, id }) => (memberId ? [[memberId, id].join()] : [])),
  );
  const uses = table("token-uses").map(({ key }) => key);
  expectSame(
    "token-uses",
    uses,
    tokens.map(({ id }) => id).filter((id) => uses.includes(id)),
  );
  const credentials = table("credentials").map(({ value }) => value);
  const names = credentials.map(({ workspaceId, name }) => [workspaceId, name].join());
  for (const name of ["credentials-by-name", "credential-values"]) {
    const keys = table(name).map(({ key }) => key.join());
    expectSame(name, keys, names);
  }
  const [sources, destinations] = ["sources", "destinations"].map(
    (name) => new Set(table(name).map(({ key }) => key)),
  );
  const connections = table("connections").map(({ value }) => value as Connection);
  for (const { id, sourceId, destinationId } of connections) {
    if (!sources?.has(sourceId) || !destinations?.has(destinationId)) found.push(`${id}: one end`);
  }
  const managed = ["sources", "destinations", "connections"].flatMap((name) =>
    table(name).map(({ value }) => [name, value.workspaceId, value.externalId, value.id]),
  );
  expectSame(
    "external-ids",
    table("external-ids").map(({ key, value }) => [...key, value].join()),
    managed.filter(([, , externalId]) => externalId !== undefined).map((it) => it.join()),
  );
  const removed = table("removed-connections").map(({ value }) => value.connection.id as string);
  for (const { id } of connections) if (removed.includes(id)) found.push(`${id}: live and removed`);
  expectSame(
    "connection-pairs",
    table("connection-pairs").map(({ key, value }) => [...key, value].join()),
    connections.map((it) => [it.sourceId, it.destinationId, it.id].join()),
  );
  expectSame(
    "connections-by-destination",
    table("connections-by-destination").map(({ key }) => key.join()),
    connections.map((it) => [it.destinationId, it.id].join()),
  );
  expectSame(
    "sources-by-write-key",
    table("sources-by-write-key").map(({ key, value }) => [key, value].join()),
    table("sources").map(({ value }) => [value.writeKey, value.id].join()),
  );
  return found;
}

function comparer(found: string[]) {
  return (what: string, actual: Iterable<string>, expected: Iterable<string>): void => {
    const difference = new Set(actual).symmetricDifference(new Set(expected));
    if (difference.size > 0) found.push(`${what}: ${[...difference].join(", ")}`);
  };
}
