import type { ResourceRevision, RevisionInput } from "../catalog/code/code-store.ts";
import type { CodeKind, Language, Revision } from "../catalog/model.ts";
import type { LogLine, UserError } from "../sandbox/program.ts";

/**
 * Publishes revisions: each becomes a program (its imports are resolved), is tested in a throw-away
 * guest, and is committed. Also runs tests without publishing. Refuses with `ApiError`. When the
 * caller hangs up, its tests end and nothing is published.
 */
export interface Publisher {
  /** Creates a resource; with `publish`, all or nothing (`invalid` with `details` when a test fails). */
  create(workspaceId: string, kind: CodeKind, input: CreateCodeInput): Promise<StoredCode>;
  /** Makes a new revision; with `publish`, all or nothing. Absent fields keep their value. */
  update(
    workspaceId: string,
    kind: CodeKind,
    id: string,
    input: UpdateCodeInput,
  ): Promise<StoredCode>;
  /**
   * Publishes versions, all or nothing, after testing them and every published importer. For a
   * version that was published before, failing tests are only warnings, since a rollback must
   * always work.
   */
  publish(workspaceId: string, selection: CodeSelection): Promise<PublishResult>;
  /** `POST /transformations/libraries/test`: runs without publishing. */
  test(workspaceId: string, selection: CodeSelection): Promise<TestResult>;
  /** `POST /transformations/tests/run`: suites of input and expected output. */
  runSuites(workspaceId: string, selection: CodeSelection): Promise<ValidationResult>;
  /** Runs drafts that are not stored. */
  run(workspaceId: string, input: DraftRunInput): Promise<DraftRunResult>;
}

export type TestEvent = Record<string, unknown>;

/** The stored resource and revision, with warnings for the caller who published it. */
export interface StoredCode extends ResourceRevision {
  warnings: string[];
}

/** A request of a caller. */
interface CallerRequest {
  /** Aborts when the caller hangs up. */
  caller?: AbortSignal;
}

interface PublishableInput extends CallerRequest {
  publish: boolean;
  /** Test events, which are kept with the revision; without any the two default events run. */
  events?: TestEvent[];
  destinationIds?: string[];
}
export interface CreateCodeInput extends PublishableInput, RevisionInput {
  externalId?: string;
}
export interface UpdateCodeInput extends PublishableInput, Partial<RevisionInput> {}

export interface CodeSelection extends CallerRequest {
  /** `testInput` holds events alone; a suite may also have the expected outputs. */
  transformations: { versionId: string; testInput?: TestEvent[]; testSuite?: TestSuite[] }[];
  libraries: { versionId: string }[];
}
export interface TestSuite {
  id: string;
  name: string;
  description?: string;
  input: TestEvent[];
  /** Result of `metadata(event)` for each event, instead of the test metadata. */
  metadata?: Record<string, unknown>[];
  expectedOutput?: TestEvent[];
}

/** Drafts: a transformation to run over events, or libraries to load. */
export interface DraftRunInput extends CallerRequest {
  language: Language;
  transformation?: {
    /** The code's name in error traces. */
    name: string;
    code: string;
    /** Without any the two default events run. */
    events: TestEvent[];
    /** Result of `metadata(event)` for each event, instead of the test metadata. */
    metadata: Record<string, unknown>[];
  };
  /** Libraries that stand in for the published ones of the same importName. */
  libraries: { name: string; code: string }[];
}

/**
 * Lines and columns count from 1; `library` is the importName of the library that an error happened
 * in.
 */
export interface DraftRunResult {
  /** Set when the code did not load: no event ran. */
  error?: UserError;
  /** Module names that the transformation imports. */
  imports: string[];
  /** One for each event, in their order: its outputs (none: dropped), or its error. */
  results: ({ event: TestEvent } & ({ outputs: unknown[] } | { error: UserError }))[];
  logs: LogLine[];
}

/** One failure of a test run, with its code, event and position. */
export interface TestFailure {
  kind: CodeKind;
  revision: Revision;
  /** Index of the test event; absent when the code did not load. */
  event?: number;
  error: UserError;
}
export interface ValidationResult {
  pass: boolean;
  message?: string;
  validationOutput: ValidationOutput;
}
export interface ValidationOutput {
  libraries: LibraryValidation[];
  transformations: TransformationValidation[];
}
interface RevisionValidation {
  id: string;
  externalId?: string;
  name: string;
  versionId: string;
  pass: boolean;
  message?: string;
}
export interface LibraryValidation extends RevisionValidation {
  handleName: string;
}
export interface TransformationValidation extends RevisionValidation {
  imports: string[];
  testResult: { status: "pass" | "fail" | "error"; results: SuiteResult[] };
}
export interface SuiteResult {
  id: string;
  name: string;
  description?: string;
  status: "pass" | "fail" | "error";
  actualOutput: unknown[];
  errors: {
    message: string;
    event: TestEvent;
    eventIndex: number;
    line?: number;
    column?: number;
  }[];
  logs: string[];
}
export type PublishResult =
  | { published: true; warnings?: string[] }
  | { published: false; message: string; validationOutput: ValidationOutput };
/** Transformations and libraries that were tested; `error` is the first failure of each. */
export interface TestResult {
  successTestResults: (TestedItem & { result: TestOutput })[];
  failedTestResults: (TestedItem & { result: TestOutput & UserErrorText })[];
}
interface TestedItem {
  /** Set for transformations only. */
  transformerVersionID?: string;
  id: string;
  name: string;
}
interface TestOutput {
  output: { transformedEvents: unknown[]; logs: string[] };
}
interface UserErrorText {
  error: string;
  line?: number;
  column?: number;
}
