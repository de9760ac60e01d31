import type { CodeChange } from "../../catalog/code/code-store.ts";
import type { Revision } from "../../catalog/model.ts";
import type { UserError } from "../../sandbox/program.ts";
import type { CheckReport } from "../../sandbox/sandbox.ts";
import type { TestSuite } from "../publisher.ts";

/** Code that is tested together: the transformations run with these libraries. */
export interface TestRunPlan {
  transformations: { revision: Revision; suites: TestSuite[] }[];
  libraries: Revision[];
  /** Whether published code that imports the libraries is tested too, with its own test events. */
  withImporters: boolean;
}

/** The results of a test run. */
export interface CodeTestReport {
  transformations: TransformationTestReport[];
  libraries: LibraryTestReport[];
  /** Published libraries that the code used, for the commit. */
  seen: CodeChange["usedLibraries"];
  /** Published importers that were tested although the request does not name them. */
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
  /** Set when the code did not load: no event ran. */
  error?: UserError;
  runs: { suite: TestSuite; report: CheckReport }[];
}
