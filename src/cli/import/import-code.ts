import type { Client } from "../../api/client.ts";
import type { ImportRun } from "./import-run.ts";
import type { RemoteCode, RemoteVersion } from "./rudderstack-api.ts";

type Kind = "library" | "transformation";
interface Code {
  libraries: readonly RemoteCode[];
  transformations: readonly RemoteCode[];
}
/** Ids of the copies of published versions. Libraries precede their importers. */
interface Published {
  libraries: string[];
  transformations: string[];
}

/**
 * Copies libraries and transformations with all their versions. Publishes the versions that are
 * published in RudderStack, and connects the transformations to the copies of their destinations.
 */
export async function importCode(client: Client, run: ImportRun, code: Code): Promise<void> {
  const publish: Published = { libraries: [], transformations: [] };
  const libraries = await knownCode(client, "library");
  for (const it of code.libraries) {
    publish.libraries.push(
      ...(await copyCode(client, run, { kind: "library", it, known: libraries })),
    );
  }
  const transformations = await knownCode(client, "transformation");
  for (const it of code.transformations) {
    const copy = { kind: "transformation" as const, it, known: transformations };
    publish.transformations.push(...(await copyCode(client, run, copy)));
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
 * Copies an item's versions. Returns a list: the id of the copy of the published version, or
 * nothing if this call copied no published version.
 */
async function copyCode(
  client: Client,
  run: ImportRun,
  { kind, it, known }: { kind: Kind; it: RemoteCode; known: ReadonlyMap<string, string> },
): Promise<string[]> {
  const { name } = it.versions.at(-1)!;
  let published: string | undefined;
  await run.copy(`${kind} ${name}`, it.id, known, async () => {
    let id: string | undefined;
    for (const version of it.versions) {
      const made = await addVersion(client, kind, version, { id, externalId: it.id });
      id = made.id;
      if (version.versionId === it.versionId) published = made.versionId;
    }
    return id!;
  });
  return published === undefined ? [] : [published];
}

async function addVersion(
  client: Client,
  kind: Kind,
  { name, description, code, language: written }: RemoteVersion,
  { id, externalId }: { id: string | undefined; externalId: string },
): Promise<{ id: string; versionId: string }> {
  const language = written as "javascript" | "pythonfaas";
  const body = { name, description, code, language };
  if (id === undefined) {
    const first = { body: { ...body, externalId } };
    return kind === "library"
      ? await client.call("POST /libraries", first)
      : await client.call("POST /transformations", first);
  }
  const next = { params: { id }, body };
  return kind === "library"
    ? await client.call("POST /libraries/{id}", next)
    : await client.call("POST /transformations/{id}", next);
}

/** Publishes all versions or none, in one request, because they may import each other. */
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

/** Returns ids of this server's libraries or transformations, by their external ids. */
async function knownCode(client: Client, kind: Kind): Promise<Map<string, string>> {
  const known = new Map<string, string>();
  for (const published of [true, false]) {
    const query = { published, code: false };
    const items =
      kind === "library"
        ? (await client.call("GET /libraries", { query })).libraries
        : (await client.call("GET /transformations", { query })).transformations;
    for (const { id, externalId } of items) if (externalId) known.set(externalId, id);
  }
  return known;
}
