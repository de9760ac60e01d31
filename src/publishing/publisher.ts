import type { ResourceRevision, RevisionInput } from "../catalog/code/code-changes.ts";
import type { Language, Revision, TestCase } from "../catalog/model.ts";
import type { UserError } from "../sandbox/program.ts";
import type { Difference, SuitesReport } from "./reports.ts";

export type TestEvent = Record<string, unknown>;

/** The stored transformation or library, its new revision, and warnings about its publication. */
export interface StoredCode extends ResourceRevision {
  warnings: string[];
}

interface CallerRequest {
  /** Signal that aborts when the caller hangs up. */
  caller?: AbortSignal;
}

/** A request that changes code. `note` says why the code is changed. */
interface NotedRequest extends CallerRequest {
  note?: string;
}

interface PublishableInput extends NotedRequest {
  publish: boolean;
  /**
   * Test events, which are stored with the revision. Without test events and test cases, a default
   * page event and a default track event are used.
   */
  events?: TestEvent[];
  destinationIds?: string[];
}
export interface CreateCodeInput extends PublishableInput, RevisionInput {
  externalId?: string;
}
export interface UpdateCodeInput extends PublishableInput, Partial<RevisionInput> {}

export interface CodeSelection extends NotedRequest {
  /**
   * Versions of transformations, each with test events. `testInput` contains only events; a suite
   * in `testSuite` may also have expected outputs. `testInput` is used only if `testSuite` has no
   * events.
   */
  transformations: { versionId: string; testInput?: TestEvent[]; testSuite?: TestSuite[] }[];
  libraries: { versionId: string }[];
}
export interface TestSuite extends Pick<TestCase, "id" | "name" | "description" | "input"> {
  /**
   * Metadata for each event, in the order of `input`. When the suite runs, `metadata(event)` in
   * user code returns these fields instead of the default fields with the same names.
   */
  metadata?: Record<string, unknown>[];
  expectedOutput?: unknown[];
  /**
   * Whether the suite is a stored test case of the transformation, not made from the events of the
   * request. Results of test cases are reported separately.
   */
  isTestCase?: boolean;
}

/**
 * Drafts (code that is not stored) to test: a transformation to run on events, and libraries to
 * load.
 */
export interface DraftRunInput extends CallerRequest {
  language: Language;
  transformation?: {
    /** Name of the transformation in error traces. */
    name: string;
    code: string;
    /**
     * Test events. If neither these nor `testSuite` are given, a default page event and a default
     * track event are used.
     */
    events: TestEvent[];
    /**
     * Metadata for each event, in the order of `events`. In tests, these fields replace the default
     * ones of `metadata(event)`.
     */
    metadata: Record<string, unknown>[];
    /** Test cases (stored ones, perhaps edited), which run in addition to `events`. */
    testSuite?: TestSuite[];
  };
  /**
   * Drafts of libraries. Each is used instead of the published library with the same importName.
   */
  libraries: { name: string; code: string }[];
}

/** One failure in a test run: the code, the event, and the error with its position. */
export interface TestFailure {
  revision: Revision;
  /** Suite that failed; absent when the code did not load. */
  suite?: TestSuite;
  /**
   * Index of the test event for which the code failed. Absent if the code did not load, or if it
   * ran for all events and only the suite's outputs differ from the expected ones.
   */
  event?: number;
  error: UserError;
  /** Differences between the expected and the actual outputs of the suite. */
  differences?: Difference[];
}

export type PublishResult =
  | { published: true; warnings?: string[] }
  | { published: false; message: string; validationOutput: SuitesReport["validationOutput"] };
