import type { Catalog } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import type { Program, ProgramBatch, ProgramOutcome, UserError } from "../sandbox/program.ts";
import { defaultEvents } from "./default-events.ts";
import type { Resolved } from "./imports.ts";
import { testMetadata } from "./metadata.ts";
import { guestLanguage, libraryCode, programOf } from "./program.ts";
import type { Suite, TestEvent } from "./publishing.ts";
import type { Testing } from "./testing.ts";
import type { TrialedLibrary, TrialedTransformation } from "./trialed.ts";

/**
 * A suite of the request's events, or of the default events when there are none: code that no event
 * runs would pass untested.
 */
export function suiteOf(events: readonly TestEvent[] = []): Suite {
  const input = [...(events.length > 0 ? events : defaultEvents)];
  return { id: "events", name: "Test events", input };
}

export async function tryLibrary(testing: Testing, resolved: Resolved): Promise<TrialedLibrary> {
  const { revision, imports, libraries, unresolved } = resolved;
  if (unresolved) return { revision, imports, error: unresolved };
  const language = guestLanguage(revision.language);
  const needed = libraries.filter(({ id }) => id !== revision.id).map(libraryCode);
  const library = libraryCode(revision);
  const { workspaceId } = revision;
  const { sandbox, budget } = testing;
  const error = await sandbox.checkLibrary(workspaceId, language, library, needed, budget);
  return { revision, imports, ...failed(error ?? resolved.error) };
}

export async function tryTransformation(
  testing: Testing,
  resolved: Resolved,
  suites: readonly Suite[],
): Promise<TrialedTransformation> {
  const { revision, imports, unresolved } = resolved;
  if (unresolved) return { revision, imports, error: unresolved, runs: [] };
  const { catalog, sandbox, budget } = testing;
  const program = testProgram(catalog, resolved);
  const runs: TrialedTransformation["runs"] = [];
  for (const suite of suites) {
    const report = await sandbox.check(program, batchOf(revision, suite), budget);
    if (report.error) return { revision, imports, error: report.error, runs: [] };
    runs.push({ suite, report });
  }
  return { revision, imports, runs, ...failed(resolved.error) };
}

/**
 * Tests a published importer against new libraries, with the events it was published with. A
 * failure counts only if the importer passed with the libraries that are published now: code that
 * was published with events of its own may never have supported the default ones.
 */
export async function tryImporter(
  testing: Testing,
  after: Resolved,
  before: Resolved,
): Promise<TrialedTransformation> {
  const suites = [suiteOf(testing.catalog.code.past(after.revision).events)];
  const now = await tryTransformation(testing, after, suites);
  const outcomes = outcomesOf(now);
  if (now.error === undefined && !outcomes.some(isFailure)) return now;
  const then = await tryTransformation(testing, before, suites);
  const { error: _, ...loaded } = now;
  if (then.error) return { ...loaded, runs: [] };
  const known = outcomesOf(then).map(isFailure);
  const runs = now.runs.map(({ suite, report }) => ({
    suite,
    report: { ...report, outcomes: report.outcomes.map((it, at) => (known[at] ? passed : it)) },
  }));
  return { ...now, runs };
}

const passed: ProgramOutcome = { events: [] };

function outcomesOf({ runs }: TrialedTransformation): ProgramOutcome[] {
  return runs.flatMap(({ report }) => report.outcomes);
}

function isFailure(outcome: ProgramOutcome): boolean {
  return "error" in outcome;
}

/** The check's error wins over the inspection's: the check names the code and its place better. */
function failed(error: UserError | undefined): { error?: UserError } {
  return error ? { error } : {};
}

function testProgram(catalog: Catalog, { revision, libraries }: Resolved): Program {
  const { workspaceId } = revision;
  return programOf({
    id: [revision, ...libraries].map(({ versionId }) => versionId).join("+"),
    ...{ workspaceId, transformation: revision, libraries },
    credentials: catalog.live.credentials(workspaceId),
  });
}

function batchOf(revision: Revision, { input, metadata = [] }: Suite): ProgramBatch {
  return {
    events: input.map((event) => Buffer.from(JSON.stringify(event))),
    metadata: input.map((event, index) => {
      const told = { ...testMetadata(revision, event, index), ...metadata[index] };
      return Buffer.from(JSON.stringify(told));
    }),
  };
}
