import type { CodeChange } from "../../catalog/code/code-changes.ts";
import type { Revision } from "../../catalog/model.ts";
import type { UserError } from "../../sandbox/program.ts";
import type { CheckReport } from "../../sandbox/sandbox.ts";
import type { TestSuite } from "../publisher.ts";

/**
 * Code that is tested together. The transformations in the plan use the plan's libraries instead of
 * the published versions of these libraries.
 */
export interface TestRunPlan {
  transformations: PlannedTransformation[];
  libraries: Revision[];
  /**
   * Whether published code that imports libraries of the plan is tested too, with the test events
   * that are stored with it.
   */
  withImporters: boolean;
}

interface PlannedTransformation {
  revision: Revision;
  /**
   * Test suites from the request. The test cases that are stored with the transformation run in
   * addition.
   */
  suites: TestSuite[];
  /**
   * Whether the revision is already published and is tested only because libraries that it imports
   * change. If true, a failure does not count if it also occurs with the published libraries.
   */
  isImporter?: boolean;
}

/** Results of a test run, per revision. */
export interface CodeTestReport {
  transformations: TransformationTestReport[];
  libraries: LibraryTestReport[];
  /**
   * Published libraries that the tested code used. If one of them is changed during the tests, the
   * catalog refuses to publish the code.
   */
  seen: CodeChange["usedLibraries"];
  /**
   * Published code that the request does not name. It was tested because it imports libraries of
   * the request.
   */
  tested: { versionId: string }[];
}
export interface LibraryTestReport {
  revision: Revision;
  imports: string[];
  /** Error because of which the code did not load. If it is present, the code ran for no event. */
  error?: UserError;
}
export interface TransformationTestReport extends LibraryTestReport {
  runs: SuiteRun[];
}
export interface SuiteRun {
  suite: TestSuite;
  report: CheckReport;
  /**
   * Failures that do not count, because they also occur with the published libraries. In `report`,
   * their events have passed without output.
   */
  known?: { event: number; error: UserError }[];
}
