import type { Catalog } from "../../catalog/catalog.ts";
import type { Revision } from "../../catalog/model.ts";
import {
  type Program,
  type ProgramBatch,
  type ProgramOutcome,
  type UserError,
  unsharedMetadata,
} from "../../sandbox/program.ts";
import { defaultEvents } from "../default-test-events.ts";
import { guestLanguage, libraryCode, programOf } from "../guest-program.ts";
import type { TestEvent, TestSuite } from "../publisher.ts";
import type { ResolvedCode } from "./resolve-imports.ts";
import type { TestContext } from "./test-context.ts";
import { testMetadata } from "./test-metadata.ts";
import type { LibraryTestReport, TransformationTestReport } from "./test-run.ts";

/**
 * Builds a test suite of `events`, or of the default events when there are none: without any event,
 * code would pass untested.
 */
export function suiteOf(events: readonly TestEvent[] = []): TestSuite {
  const input = [...(events.length > 0 ? events : defaultEvents)];
  return { id: "events", name: "Test events", input };
}

export async function testLibrary(
  context: TestContext,
  resolved: ResolvedCode,
): Promise<LibraryTestReport> {
  const { revision, imports, libraries, unresolved } = resolved;
  if (unresolved) return { revision, imports, error: unresolved };
  const language = guestLanguage(revision.language);
  const needed = libraries.filter(({ id }) => id !== revision.id).map(libraryCode);
  const library = libraryCode(revision);
  const { workspaceId } = revision;
  const { sandbox, budget } = context;
  const error = await sandbox.checkLibrary(workspaceId, language, library, needed, budget);
  return { revision, imports, ...failed(error ?? resolved.error) };
}

export async function testTransformation(
  context: TestContext,
  resolved: ResolvedCode,
  suites: readonly TestSuite[],
): Promise<TransformationTestReport> {
  const { revision, imports, unresolved } = resolved;
  if (unresolved) return { revision, imports, error: unresolved, runs: [] };
  const { catalog, sandbox, budget } = context;
  const program = testProgram(catalog, resolved);
  const runs: TransformationTestReport["runs"] = [];
  for (const suite of suites) {
    const report = await sandbox.check(program, batchOf(revision, suite), budget);
    if (report.error) return { revision, imports, error: report.error, runs: [] };
    runs.push({ suite, report });
  }
  return { revision, imports, runs, ...failed(resolved.error) };
}

/**
 * Tests published code with new libraries that it imports (`after`). A failure counts only if the code passes with the published libraries
 * (`before`), because code that was published with other events may never have supported the
 * default ones.
 */
export async function testImporter(
  context: TestContext,
  after: ResolvedCode,
  before: ResolvedCode,
  suites: readonly TestSuite[],
): Promise<TransformationTestReport> {
  const now = await testTransformation(context, after, suites);
  const outcomes = outcomesOf(now);
  if (now.error === undefined && !outcomes.some(isFailure)) return now;
  const then = await testTransformation(context, before, suites);
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

function outcomesOf({ runs }: TransformationTestReport): ProgramOutcome[] {
  return runs.flatMap(({ report }) => report.outcomes);
}

function isFailure(outcome: ProgramOutcome): boolean {
  return "error" in outcome;
}

/** Returns an object with the field `error`; empty when there is no error. */
function failed(error: UserError | undefined): { error?: UserError } {
  return error ? { error } : {};
}

function testProgram(catalog: Catalog, { revision, libraries }: ResolvedCode): Program {
  const { workspaceId } = revision;
  return programOf({
    id: [revision, ...libraries].map(({ versionId }) => versionId).join("+"),
    workspaceId,
    transformation: revision,
    libraries,
    credentials: catalog.live.credentials(workspaceId),
  });
}

function batchOf(revision: Revision, { input, metadata = [] }: TestSuite): ProgramBatch {
  return {
    events: input.map((event) => Buffer.from(JSON.stringify(event))),
    metadata: input.map((event, index) => {
      return unsharedMetadata({ ...testMetadata(revision, event, index), ...metadata[index] });
    }),
  };
}
