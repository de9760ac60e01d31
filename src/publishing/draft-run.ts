import type { Catalog } from "../catalog/catalog.ts";
import type { UserError } from "../sandbox/program.ts";
import { checkImportNames, checkModuleName } from "./code-selection.ts";
import type { DraftRunInput } from "./publisher.ts";
import type { DraftRunReport } from "./reports.ts";
import { outputsOf, toSuiteResult, truncateMessage } from "./testing/suite-result.ts";
import { defaultSuite, suitesOf } from "./testing/test-code.ts";
import type { CodeTestReport, TestRunPlan } from "./testing/test-run.ts";

/**
 * Plans the test run of drafts, which are code that is not stored. Their revisions exist only in
 * memory.
 */
export function planDraftRun(
  catalog: Catalog,
  workspaceId: string,
  input: DraftRunInput,
): TestRunPlan {
  const { language, transformation } = input;
  const libraries = input.libraries.map((library) =>
    catalog.code.draft(workspaceId, "library", { ...library, language }),
  );
  checkImportNames(libraries);
  for (const library of libraries) checkModuleName(library);
  if (transformation === undefined) return { transformations: [], libraries, withImporters: false };
  const { name, code, events, metadata, testSuite = [] } = transformation;
  const revision = catalog.code.draft(workspaceId, "transformation", { name, code, language });
  const cases = testSuite.map((suite) => ({ ...suite, isTestCase: true }));
  const standIn = cases.length > 0 ? [] : [defaultSuite()];
  const own = (events.length > 0 ? suitesOf(events) : standIn).map((suite) => ({
    ...suite,
    metadata,
  }));
  const suites = [...own, ...cases];
  return { transformations: [{ revision, suites }], libraries, withImporters: false };
}

/** Converts the report of a draft's test run to the result for the caller. Pure function. */
export function toDraftRunResult({ transformations, libraries }: CodeTestReport): DraftRunReport {
  const [transformation] = transformations;
  const broken = libraries.find(({ error }) => error !== undefined);
  const all = transformation?.runs ?? [];
  const runs = all.filter(({ suite }) => !suite.isTestCase);
  const cases = all.filter(({ suite }) => suite.isTestCase);
  const error = broken?.error
    ? { library: broken.revision.importName ?? "", ...withShortMessage(broken.error) }
    : transformation?.error && withShortMessage(transformation.error);
  return {
    ...(error && { error }),
    imports: transformation?.imports ?? [],
    results: runs.flatMap(({ suite, report }) =>
      report.outcomes.map((outcome, at) => ({
        event: suite.input[at] ?? {},
        ...("error" in outcome
          ? { error: withShortMessage(outcome.error) }
          : { outputs: outputsOf(outcome) }),
      })),
    ),
    logs: runs.flatMap(({ report }) => report.logs),
    ...(cases.length > 0 && {
      testSuites: cases.map(({ suite, report }) => toSuiteResult(suite, report)),
    }),
  };
}

function withShortMessage(error: UserError): UserError {
  return { ...error, message: truncateMessage(error.message) };
}
