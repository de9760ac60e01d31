import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalog } from "../src/catalog/catalog.ts";
import { newId } from "../src/catalog/ids.ts";
import type { Revision } from "../src/catalog/model.ts";
import { openCatalog } from "../src/catalog/open.ts";
import { createLogger } from "../src/observe/log.ts";
import { report } from "./report.ts";

/**
 * Measures management operations at 100 and at 10,000 transformations of 10 revisions each: the
 * time of one operation must stay flat (a ratio of 1.5 at most). Both catalogs are open at once and
 * alternate, so that a slow moment of the machine affects both.
 */
const SIZES = [100, 10_000] as const;
const REVISIONS = 10;
const ROUNDS = 400;
const READS_A_ROUND = 50;
const CODE = `export function transformEvent(event) {\n${"  event.seen = true;\n".repeat(40)}  return event;\n}\n`;

interface Filled {
  catalog: Catalog;
  workspaceId: string;
  ids: string[];
  destinationIds: string[];
  library: Revision;
}

const names = ["retrieve", "list versions", "publish", "connect"] as const;

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "pixelmill-bench-"));
  try {
    const filled = await Promise.all(SIZES.map((size) => fill(join(directory, `${size}`), size)));
    const times = filled.map(() => new Map(names.map((name) => [name, [] as number[]])));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, catalog] of filled.entries()) {
        for (const name of names) times[index]?.get(name)?.push(await timed(name, catalog, round));
      }
    }
    await report(
      "catalog",
      names.map((name) =>
        row(
          name,
          times.map((of) => of.get(name) ?? []),
        ),
      ),
    );
    for (const { catalog } of filled) await catalog.close();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Time of one operation in microseconds, on a transformation that the round picks. */
async function timed(
  name: (typeof names)[number],
  { catalog, workspaceId, ids, destinationIds, library }: Filled,
  round: number,
): Promise<number> {
  const pick = (step: number): string => ids[(round * 7_919 + step * 104_729) % ids.length] ?? "";
  const { code } = catalog;
  if (name === "retrieve") {
    return each(READS_A_ROUND, (step) => {
      code.publishedRevision(workspaceId, "transformation", pick(step));
      code.linkedDestinations(workspaceId, pick(step));
    });
  }
  if (name === "list versions") {
    const options = { count: 5, order: "asc" as const };
    return each(READS_A_ROUND, (step) => {
      [...code.revisions(workspaceId, "transformation", pick(step), options)];
    });
  }
  const started = Bun.nanoseconds();
  if (name === "publish") {
    const revision = code.revise(workspaceId, "transformation", pick(0), { code: CODE });
    await code.commit(workspaceId, publication([revision], library));
  } else {
    const destinationId = destinationIds[round % destinationIds.length] ?? "";
    await code.link(workspaceId, pick(0), destinationId);
  }
  return (Bun.nanoseconds() - started) / 1_000;
}

function each(count: number, work: (step: number) => void): number {
  const started = Bun.nanoseconds();
  for (let step = 0; step < count; step++) work(step);
  return (Bun.nanoseconds() - started) / 1_000 / count;
}

async function fill(directory: string, size: number): Promise<Filled> {
  const catalog = await openCatalog({ directory, logger: createLogger("silent") });
  const workspaceId = (await catalog.workspaces.create("Bench")).id;
  const { code } = catalog;
  const input = { name: "Shared", code: "export const x = 1", language: "javascript" as const };
  const library = code.draft(workspaceId, "library", input);
  await code.commit(workspaceId, publication([library]));
  const destinationIds: string[] = [];
  for (let index = 0; index < 50; index++) {
    const sink = { name: `Sink ${index}`, type: "file", config: {} };
    destinationIds.push((await catalog.destinations.create(workspaceId, sink)).id);
  }
  const ids: string[] = [];
  while (ids.length < size) {
    const batch = Array.from({ length: Math.min(500, size - ids.length) }, (_, index) => {
      const draft = {
        name: `T ${ids.length + index}`,
        code: CODE,
        language: "javascript" as const,
      };
      const first = code.draft(workspaceId, "transformation", draft);
      const more = Array.from({ length: REVISIONS - 1 }, () => ({ ...first, versionId: newId() }));
      return [first, ...more];
    });
    await Promise.all(batch.map((of) => code.commit(workspaceId, publication(of, library))));
    ids.push(...batch.flatMap((of) => of[0]?.id ?? []));
  }
  return { catalog, workspaceId, ids, destinationIds, library };
}

/** Stores revisions of one resource and publishes the last. */
function publication(revisions: Revision[], library?: Revision) {
  const publish = revisions.slice(-1).map(({ kind, id, versionId }) => {
    return { kind, id, versionId, imports: library ? ["shared"] : [] };
  });
  const { language, versionId } = library ?? {};
  const usedLibraries =
    language && versionId ? [{ importName: "shared", language, versionId }] : [];
  return { revisions, publish, links: [], usedLibraries };
}

function row(name: string, times: number[][]): Record<string, string | number> {
  const at = (of: number[], share: number) =>
    of.toSorted((left, right) => left - right)[Math.floor(of.length * share)] ?? 0;
  const [few, many] = times.map((of) => at(of, 0.5)) as [number, number];
  const p99 = times.map((of) => at(of, 0.99)) as [number, number];
  return {
    operation: name,
    [`µs at ${SIZES[0]}`]: round1(few),
    [`µs at ${SIZES[1]}`]: round1(many),
    ratio: Number((many / few).toFixed(2)),
    [`p99 µs at ${SIZES[0]}`]: round1(p99[0]),
    [`p99 µs at ${SIZES[1]}`]: round1(p99[1]),
  };
}

function round1(value: number): number {
  return Math.round(value * 10) / 10;
}

await main();
