import { expect, onTestFinished, test } from "bun:test";
import { destination, freshCatalog, freshDirectory, publish, store } from "./_setup.ts";
import { contradictions } from "./consistency.ts";

const child = (name: string, ...args: string[]) =>
  Bun.spawn([process.execPath, `${import.meta.dir}/children/${name}.ts`, ...args], {
    stdout: "pipe",
    stderr: "inherit",
  });

test("another process sees each commit: sources, connections, code and tokens", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const source = await catalog.sources.create(workspaceId, { name: "Site" });
  const destinationId = await destination(catalog, workspaceId);
  const { token, secret } = await catalog.tokens.create(workspaceId, {
    name: "t",
    permissions: [],
  });
  const watcher = child("watcher", directory, source.writeKey, destinationId, secret);
  onTestFinished(() => watcher.kill("SIGKILL"));
  const views = lines(watcher.stdout);
  const next = async () => JSON.parse((await views.next()).value ?? "null");

  const seen = { source: true, lanes: 0, code: null as string | null, token: true };
  expect(await next()).toEqual(seen);
  await catalog.sources.update(workspaceId, source.id, { enabled: false });
  expect(await next()).toEqual({ ...seen, source: false });
  await catalog.connections.create(workspaceId, { sourceId: source.id, destinationId }, {});
  expect(await next()).toEqual({ ...seen, source: false, lanes: 1 });
  const first = await store(catalog, workspaceId, "transformation", { code: "one" });
  await publish(catalog, first);
  await catalog.code.link(workspaceId, first.id, destinationId);
  expect(await next()).toEqual({ ...seen, source: false, lanes: 1, code: "one" });
  const second = catalog.code.revise(workspaceId, "transformation", first.id, { code: "two" });
  const { kind, id, versionId } = second;
  const items = [{ kind, id, versionId, imports: [] }];
  await catalog.code.commit(workspaceId, {
    revisions: [second],
    publish: items,
    links: [],
    usedLibraries: [],
  });
  expect(await next()).toEqual({ ...seen, source: false, lanes: 1, code: "two" });
  await catalog.tokens.revoke(workspaceId, token.id);
  expect(await next()).toEqual({ ...seen, source: false, lanes: 1, code: "two", token: false });
  await catalog.sources.rotateWriteKey(workspaceId, source.id);
  expect(await next()).toEqual({ source: null, lanes: 1, code: "two", token: false });
}, 300_000);

test("a process sees another's change at once, also after a read in the same turn", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const { id } = await catalog.workspaces.create("Acme");
  const { secret } = await catalog.tokens.create(id, { name: "old", permissions: [] });
  // From here on everything is one turn of the event loop, whose reads share a state.
  expect(catalog.tokens.authenticate(secret)).toBeDefined();
  const command = [process.execPath, `${import.meta.dir}/children/newcomer.ts`, directory, id];
  const made = JSON.parse(Bun.spawnSync(command, { stderr: "inherit" }).stdout.toString());
  expect(catalog.tokens.authenticate(made.secret)).toBeDefined();
  expect(catalog.live.source(made.writeKey)).toBeDefined();
}, 300_000);

test("four processes write at once: every id is new, none is lost", async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const count = 250;
  const writers = [1, 2, 3].map(() => child("writer", directory, workspaceId, `${count}`));
  const names = Array.from({ length: count }, (_, index) => `Mine ${index}`);
  const mine = names.map((name) => catalog.sources.create(workspaceId, { name }));
  const ids = (await Promise.all(mine)).map(({ id }) => id);
  for (const writer of writers) {
    ids.push(...(await new Response(writer.stdout).text()).split("\n"));
    expect(await writer.exited).toBe(0);
  }
  expect(new Set(ids).size).toBe(4 * count);
  expect(catalog.sources.list(workspaceId, 1).total).toBe(4 * count);
  for (const id of ids) expect(catalog.sources.get(workspaceId, id).id).toBe(id);
  expect(catalog.live.topology()).toBe(4 * count);
  expect(await contradictions(directory)).toEqual([]);
}, 300_000);

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
  return undefined;
}
