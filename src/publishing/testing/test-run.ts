import type { CodeChange } from "../../catalog/code/code-changes.ts";
import type { Revision } from "../../catalog/model.ts";
import type { UserError } from "../../sandbox/program.ts";
import type { CheckReport } from "../../sandbox/sandbox.ts";
import type { TestSuite } from "../publisher.ts";

/**
 * Plan of a test run: code that is tested together. The transformations use these libraries instead
 * of the published ones.
 */
export interface TestRunPlan {
  transformations: PlannedTransformation[];
  libraries: Revision[];
  /**
   * Whether published code that imports the libraries is tested too, with the test events that are
   * stored with it.
   */
  withImporters: boolean;
}

interface PlannedTransformation {
  revision: Revision;
  /** Suites of the request. The test cases that are stored with the transformation run too. */
  suites: TestSuite[];
  /**
   * Whether the revision is live and is tested only because libraries that it imports change. Test
   * events that fail with the published libraries too do not count then.
   */
  isImporter?: boolean;
}

/** Results of a test run, per revision. */
export interface CodeTestReport {
  transformations: TransformationTestReport[];
  libraries: LibraryTestReport[];
  /**
   * Published libraries that the tested code used. The change is refused if these libraries have
   * changed during the tests.
   */
  seen: CodeChange["usedLibraries"];
  /**
   * Published code that was tested although the request does not name it, because it imports
   * libraries of the request.
   */
  tested: { versionId: string }[];
}
export interface LibraryTestReport {
  revision: Revision;
  imports: string[];
  error?: UserError;
}
export interface TransformationTestReport {
  revision: Revision;
  imports: string[];
  /** Why the code did not load. No event has run then. */
  error?: UserError;
  runs: { suite: TestSuite; report: CheckReport }[];
}
