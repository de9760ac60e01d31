import type { Catalog } from "../../catalog/catalog.ts";
import { familyOf } from "../../catalog/import-name.ts";
import type { Revision, TestCase } from "../../catalog/model.ts";
import { defined } from "../../defined.ts";
import { type Program, type ProgramBatch, unsharedMetadata } from "../../sandbox/program.ts";
import { defaultEvents } from "../default-test-events.ts";
import { libraryCode, programOf } from "../guest-program.ts";
import type { TestEvent, TestSuite } from "../publisher.ts";
import type { ResolvedCode } from "./resolve-imports.ts";
import { toSuiteResult } from "./suite-result.ts";
import type { TestContext } from "./test-context.ts";
import { failuresOfTransformation } from "./test-failures.ts";
import { testMetadata } from "./test-metadata.ts";
import type { LibraryTestReport, SuiteRun, TransformationTestReport } from "./test-run.ts";

/**
 * Returns a list with one test suite, which has the events of a request; an empty list when the
 * request has none.
 */
export function suitesOf(events: readonly TestEvent[] = []): TestSuite[] {
  return events.length > 0 ? [eventSuite(events)] : [];
}

/**
 * Returns all suites with which a transformation is tested: `suites`, then its stored test cases.
 * If there are neither, returns one suite with the default events.
 */
export function withTestCases(
  { testCases }: Pick<Catalog, "testCases">,
  { id }: Revision,
  suites: readonly TestSuite[],
): TestSuite[] {
  const stored = testCases.of(id).map(toSuite);
  const all = [...suites, ...stored];
  return all.length > 0 ? all : [defaultSuite()];
}

export function defaultSuite(): TestSuite {
  return eventSuite(defaultEvents);
}

function eventSuite(events: readonly TestEvent[]): TestSuite {
  return { id: "events", name: "Test events", input: [...events] };
}

function toSuite({ id, name, description, input, expectedOutput }: TestCase): TestSuite {
  return {
    id,
    name,
    input,
    isTestCase: true,
    ...defined({ description, expectedOutput }),
  };
}

export async function testLibrary(
  context: TestContext,
  resolved: ResolvedCode,
): Promise<LibraryTestReport> {
  const { revision, imports, libraries, unresolved } = resolved;
  if (unresolved) return { revision, imports, error: unresolved };
  const language = familyOf(revision.language);
  const needed = libraries.filter(({ id }) => id !== revision.id).map(libraryCode);
  const library = libraryCode(revision);
  const { workspaceId } = revision;
  const { sandbox, budget } = context;
  const error = await sandbox.checkLibrary(workspaceId, language, library, needed, budget);
  return { revision, imports, ...defined({ error: error ?? resolved.error }) };
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
  const batches = suites.map((suite) => batchOf(revision, suite));
  const reports = await sandbox.checkAll(program, batches, budget);
  const loadError = reports.find(({ error }) => error !== undefined)?.error;
  if (loadError) return { revision, imports, error: loadError, runs: [] };
  const runs = suites.map((suite, index) => ({ suite, report: reports[index]! }));
  return { revision, imports, runs, ...defined({ error: resolved.error }) };
}

/**
 * Tests published code with new versions of the libraries that it imports (`after`). Failures that
 * also occur with the published versions (`before`) are ignored, because the new versions did not
 * cause them.
 */
export async function testImporter(
  context: TestContext,
  after: ResolvedCode,
  before: ResolvedCode,
  suites: readonly TestSuite[],
): Promise<TransformationTestReport> {
  const now = await testTransformation(context, after, suites);
  if (failuresOfTransformation(now).length === 0) return now;
  const then = await testTransformation(context, before, suites);
  const { error: _, ...loaded } = now;
  if (then.error) return { ...loaded, runs: [] };
  return { ...now, runs: now.runs.map((run, index) => withoutKnown(run, then.runs[index])) };
}

/**
 * Moves the failures that also occurred in `before`, the run of the same suite with the published
 * libraries, to `known` of the result. Their events then count as passed, without output. Returns
 * the run unchanged when `before` is undefined.
 */
function withoutKnown({ suite, report }: SuiteRun, before: SuiteRun | undefined): SuiteRun {
  if (before === undefined) return { suite, report };
  const known = report.outcomes.flatMap((outcome, event) => {
    const then = before.report.outcomes[event];
    const isKnown = "error" in outcome && then !== undefined && "error" in then;
    return isKnown ? [{ event, error: outcome.error }] : [];
  });
  const outcomes = [...report.outcomes];
  for (const { event } of known) outcomes[event] = { events: [] };
  const { expectedOutput: _, ...anyOutput } = suite;
  const isExpected = toSuiteResult(before.suite, before.report).status === "pass";
  return { suite: isExpected ? suite : anyOutput, report: { ...report, outcomes }, known };
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
