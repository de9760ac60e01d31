import type { Client } from "../../api/client.ts";
import { VERSIONS_COUNT_MAX } from "../../settings/limits.ts";
import { folders, pathOf } from "../code/code-item.ts";
import type { ImportRun } from "./import-run.ts";
import type { RemoteCode, RemoteVersion } from "./rudderstack-api.ts";

type Kind = keyof typeof folders;
type Code = Record<(typeof folders)[Kind], readonly RemoteCode[]>;
/**
 * Ids of versions on this server that the import will publish. Each version is a copy of one that
 * is published in RudderStack.
 */
type Published = Record<keyof Code, string[]>;

/**
 * Copies libraries and transformations with all their versions. Publishes the versions that are
 * published in RudderStack, and connects the transformations to the copies of their destinations.
 */
export async function importCode(client: Client, run: ImportRun, code: Code): Promise<void> {
  const publish: Published = { libraries: [], transformations: [] };
  for (const kind of ["library", "transformation"] as const) {
    const known = await knownCode(client, kind);
    for (const it of code[folders[kind]]) {
      publish[folders[kind]].push(...(await copyCode(client, run, { kind, it, known })));
    }
  }
  if (publish.libraries.length + publish.transformations.length > 0) {
    await publishAll(client, run, publish);
  }
  if (run.isDry) return;
  for (const { id, destinations } of code.transformations) {
    for (const remoteId of destinations) await connect(client, run, id, remoteId);
  }
}

/**
 * Copies the versions of a library or transformation that earlier imports have not copied. Returns
 * a list with the id of the version to publish, which is the copy of RudderStack's published one.
 * The list is empty if nothing is to be published.
 */
async function copyCode(
  client: Client,
  run: ImportRun,
  { kind, it, known }: { kind: Kind; it: RemoteCode; known: ReadonlyMap<string, KnownCode> },
): Promise<string[]> {
  const { name } = it.versions.at(-1)!;
  const copy = known.get(it.id);
  const copied = copy === undefined ? [] : await copiedVersions(client, kind, copy, it);
  const finished = new Map(copy && copied === undefined ? [[it.id, copy.id]] : []);
  let published: string | undefined;
  await run.copy(`${kind} ${name}`, it.id, finished, async () => {
    let id = copy?.id;
    const versionIds = [...(copied ?? [])];
    for (const version of it.versions.slice(versionIds.length)) {
      const made = await addVersion(client, kind, version, { id, externalId: it.id });
      id = made.id;
      versionIds.push(made.versionId);
    }
    published = versionIds[it.versions.findIndex(({ versionId }) => versionId === it.versionId)];
    return id!;
  });
  return published === undefined ? [] : [published];
}

/**
 * Returns the ids of the versions that an interrupted import has copied, oldest first. Returns
 * undefined if the versions are not copies of RudderStack's, or if the item is published, because
 * an import publishes only at its end.
 */
async function copiedVersions(
  client: Client,
  kind: Kind,
  { id, isPublished }: KnownCode,
  { versions }: RemoteCode,
): Promise<string[] | undefined> {
  if (isPublished) return undefined;
  const request = {
    params: { id },
    query: { count: VERSIONS_COUNT_MAX, orderBy: "asc" as const },
  };
  // The only member of the answer has a different name for each kind.
  const answer = await client.call(`GET /${pathOf(kind)}/{id}/versions`, request);
  const here = Object.values(answer).flat();
  const isOurs = here.every(({ code }, index) => code === versions[index]?.code);
  return isOurs ? here.map(({ versionId }) => versionId) : undefined;
}

async function addVersion(
  client: Client,
  kind: Kind,
  { name, description, code, language: written }: RemoteVersion,
  { id, externalId }: { id: string | undefined; externalId: string },
): Promise<{ id: string; versionId: string }> {
  const language = written as "javascript" | "pythonfaas";
  const body = { name, description, code, language };
  if (id !== undefined) {
    return await client.call(`POST /${pathOf(kind)}/{id}`, { params: { id }, body });
  }
  return await client.call(`POST /${pathOf(kind)}`, { body: { ...body, externalId } });
}

/** Publishes all versions in `body` or none, in one request: one version may import another. */
async function publishAll(client: Client, run: ImportRun, body: Published): Promise<void> {
  await run.attempt("publishing", async () => {
    const answer = await client.call("POST /transformations/publish", { body });
    if (answer.published) return;
    const { libraries = [], transformations = [] } = answer.validationOutput ?? {};
    for (const { name, pass, message = "A test failed" } of [...libraries, ...transformations]) {
      if (!pass) run.fail(`publishing ${name}`, message);
    }
  });
}

async function connect(
  client: Client,
  run: ImportRun,
  transformation: string,
  destination: string,
): Promise<void> {
  const transformationId = run.ids.get(transformation);
  const id = run.ids.get(destination);
  if (transformationId === undefined || id === undefined) return;
  await run.attempt(`transformation of destination ${destination}`, async () => {
    const now = await client.call("GET /v2/destinations/{id}", { params: { id } });
    // A transformation that was chosen on this server is kept.
    if (now.destination.transformation !== undefined) return;
    const request = { params: { id }, body: { transformationId } };
    await client.call("PUT /v2/destinations/{id}/transformation", request);
  });
}

/** Library or transformation of this server. */
interface KnownCode {
  id: string;
  isPublished: boolean;
}

/** Returns this server's libraries or transformations that have an external id, by this id. */
async function knownCode(client: Client, kind: Kind): Promise<Map<string, KnownCode>> {
  const known = new Map<string, KnownCode>();
  for (const isPublished of [true, false]) {
    const query = { published: isPublished, code: false };
    const items = Object.values(await client.call(`GET /${pathOf(kind)}`, { query })).flat();
    for (const { id, externalId } of items)
      if (externalId) known.set(externalId, { id, isPublished });
  }
  return known;
}
