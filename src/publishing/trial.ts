import type { Catalog, CodeChange, Found } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import { ApiError } from "../errors.ts";
import { PUBLISH_CHECKS_AT_ONCE } from "../limits.ts";
import {
  type Batch,
  type CheckReport,
  type Sandbox,
  SandboxUnavailable,
  type UserError,
} from "../sandbox/program.ts";
import { defaultEvents } from "./default-events.ts";
import { type Inspected, inspect, type Resolved, resolve } from "./imports.ts";
import { testMetadata } from "./metadata.ts";
import { guestLanguage, libraryCode } from "./program.ts";
import type { Suite, TestEvent } from "./publishing.ts";
import { mapAtOnce } from "./turns.ts";

/** Code that is tried together: the transformations run with these libraries. */
export interface Trial {
  transformations: { revision: Revision; suites: Suite[] }[];
  libraries: Revision[];
  /** Whether published code that imports the libraries is tried too, with the default events. */
  withImporters: boolean;
}

/** What a trial found. */
export interface Trialed {
  transformations: TrialedTransformation[];
  libraries: TrialedLibrary[];
  /** Published libraries that were used, for the commit. */
  seen: CodeChange["seen"];
  /** Published importers that were tried, for the commit. */
  tested: { versionId: string }[];
}
export interface TrialedLibrary {
  revision: Revision;
  imports: string[];
  error?: UserError;
}
export interface TrialedTransformation {
  revision: Revision;
  imports: string[];
  /** It did not load; no event ran. */
  error?: UserError;
  runs: { suite: Suite; report: CheckReport }[];
  /** Not named by the caller: it imports a library that is. */
  importer: boolean;
}

export function suiteOf(events: readonly TestEvent[] = defaultEvents): Suite {
  return { id: "events", name: "Test events", input: [...events] };
}

/** Reads, resolves and runs code in throw-away guests. Nothing is stored. */
export async function tryOut(
  catalog: Catalog,
  sandbox: Sandbox,
  workspaceId: string,
  trial: Trial,
): Promise<Trialed> {
  const at = <T, R>(items: readonly T[], work: (item: T) => Promise<R>) =>
    mapAtOnce(items, PUBLISH_CHECKS_AT_ONCE, (item) => available(() => work(item)));

  const own = await at(trial.libraries, (revision) => inspect(sandbox, revision));
  const named = await at(trial.transformations, async ({ revision, suites }) => {
    return { code: await inspect(sandbox, revision), suites, importer: false };
  });
  const importers = trial.withImporters ? importersOf(catalog, workspaceId, trial) : [];
  const split = Map.groupBy(importers, ({ revision }) => revision.kind);
  const libraries = [...own, ...(split.get("library") ?? [])].map((code) =>
    resolve(catalog, code, own),
  );
  const others = (split.get("transformation") ?? []).map((code) => {
    return { code, suites: [suiteOf()], importer: true };
  });
  const transformations = [...named, ...others].map(({ code, ...rest }) => {
    return { ...rest, resolved: resolve(catalog, code, own) };
  });

  return {
    libraries: await at(libraries, (library) => tryLibrary(sandbox, library)),
    transformations: await at(transformations, ({ resolved, suites, importer }) =>
      tryTransformation(catalog, sandbox, resolved, suites, importer),
    ),
    seen: seenBy([...libraries, ...transformations.map(({ resolved }) => resolved)], trial),
    tested: importers.map(({ revision }) => ({ versionId: revision.versionId })),
  };
}

/** Published code that imports the libraries, through libraries too, and is not named itself. */
function importersOf(catalog: Catalog, workspaceId: string, trial: Trial): Inspected[] {
  const named = [...trial.libraries, ...trial.transformations.map(({ revision }) => revision)];
  const met = new Set(named.map(({ id }) => id));
  const found: Found[] = [];
  const left = [...trial.libraries];
  for (let library = left.shift(); library !== undefined; library = left.shift()) {
    const { language, importName = "" } = library;
    for (const importer of catalog.code.importers(workspaceId, language, importName)) {
      if (met.has(importer.resource.id)) continue;
      met.add(importer.resource.id);
      found.push(importer);
      if (importer.revision.kind === "library") left.push(importer.revision);
    }
  }
  return found.map(({ resource, revision }) => {
    return { revision, imports: catalog.code.publication(resource)?.imports ?? [] };
  });
}

async function tryLibrary(sandbox: Sandbox, resolved: Resolved): Promise<TrialedLibrary> {
  const { revision, imports, libraries, unresolved } = resolved;
  if (unresolved) return { revision, imports, error: unresolved };
  const language = guestLanguage(revision.language);
  const needed = libraries.filter(({ id }) => id !== revision.id).map(libraryCode);
  const error = await sandbox.checkLibrary(language, libraryCode(revision), needed);
  return { revision, imports, ...failed(error ?? resolved.error) };
}

async function tryTransformation(
  catalog: Catalog,
  sandbox: Sandbox,
  resolved: Resolved,
  suites: readonly Suite[],
  importer: boolean,
): Promise<TrialedTransformation> {
  const { revision, imports, libraries, unresolved } = resolved;
  if (unresolved) return { revision, imports, importer, error: unresolved, runs: [] };
  const program = {
    id: [revision, ...libraries].map(({ versionId }) => versionId).join("+"),
    workspaceId: revision.workspaceId,
    language: guestLanguage(revision.language),
    name: revision.name,
    code: revision.code,
    libraries: libraries.map(libraryCode),
    credentials: catalog.live.credentials(revision.workspaceId),
  };
  const runs: TrialedTransformation["runs"] = [];
  for (const suite of suites) {
    const report = await sandbox.check(program, batchOf(revision, suite.input));
    if (report.error) return { revision, imports, importer, error: report.error, runs: [] };
    runs.push({ suite, report });
  }
  return { revision, imports, importer, runs, ...failed(resolved.error) };
}

/** A check tells better where code does not parse than the inspection, which knows no name. */
function failed(error: UserError | undefined): { error?: UserError } {
  return error ? { error } : {};
}

function batchOf(revision: Revision, events: readonly TestEvent[]): Batch {
  return {
    events: events.map((event) => Buffer.from(JSON.stringify(event))),
    metadata: events.map((event, index) =>
      Buffer.from(JSON.stringify(testMetadata(revision, event, index))),
    ),
  };
}

/** The published libraries that code ran with; those of the trial are not published yet. */
function seenBy(code: readonly Resolved[], trial: Trial): CodeChange["seen"] {
  const own = new Set(trial.libraries.map(({ versionId }) => versionId));
  const used = code.flatMap(({ libraries }) => libraries).filter((it) => !own.has(it.versionId));
  const byVersion = new Map(used.map((library) => [library.versionId, library]));
  return [...byVersion.values()].map(({ importName = "", language, versionId }) => {
    return { importName, language, versionId };
  });
}

async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandboxUnavailable)) throw error;
    throw new ApiError("unavailable", "The code cannot be tested now; send the request again");
  }
}
