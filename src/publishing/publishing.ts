import type { Found } from "../catalog/catalog.ts";
import type { Kind, Language, Maker, Revision } from "../catalog/model.ts";
import type { UserError } from "../sandbox/program.ts";

/**
 * Publishing: a revision becomes a program (imports resolved), is checked in a throw-away
 * guest, and is committed. Also test runs that publish nothing. Refuses with `ApiError`. Tests
 * end with their caller, and nothing is published then.
 */
export interface Publishing {
  /** Creates a resource; with `publish`, all or nothing (`invalid` with `details` when a test fails). */
  create(workspaceId: string, kind: Kind, input: CreateInput): Promise<Stored>;
  /** Makes a new revision; with `publish`, all or nothing. Absent fields keep their value. */
  update(workspaceId: string, kind: Kind, id: string, input: UpdateInput): Promise<Stored>;
  /**
   * Publishes versions, all or nothing, after testing them and every published importer. Tests of
   * a version that was published before only warn: going back must not fail.
   */
  publish(workspaceId: string, selection: Selection): Promise<PublishResult>;
  /** `POST /transformations/libraries/test`: runs without publishing. */
  test(workspaceId: string, selection: Selection): Promise<TestResult>;
  /** `POST /transformations/tests/run`: suites of input and expected output. */
  runSuites(workspaceId: string, selection: Selection): Promise<ValidationResult>;
}

export type TestEvent = Record<string, unknown>;

/** What was stored; warnings are for who published it. */
export interface Stored extends Found {
  warnings: string[];
}

/** Who asks. */
interface Asked {
  /** Aborts when the caller hangs up. */
  caller?: AbortSignal;
}

export interface CreateInput extends Asked {
  name: string;
  description?: string;
  code: string;
  language: Language;
  externalId?: string;
  createdBy?: Maker;
  publish: boolean;
  /** Test events, kept with the revision; the two default events run when there are none. */
  events?: TestEvent[];
  destinationIds?: string[];
}
export interface UpdateInput extends Asked {
  name?: string;
  description?: string;
  code?: string;
  language?: Language;
  createdBy?: Maker;
  publish: boolean;
  events?: TestEvent[];
  destinationIds?: string[];
}

export interface Selection extends Asked {
  /** `testInput` are events alone; suites may also say what the events should become. */
  transformations: { versionId: string; testInput?: TestEvent[]; testSuite?: Suite[] }[];
  libraries: { versionId: string }[];
}
export interface Suite {
  id: string;
  name: string;
  description?: string;
  input: TestEvent[];
  expectedOutput?: TestEvent[];
}

/** One failure of a publish test: which code, which event, and where. */
export interface Failure {
  kind: Kind;
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
export interface LibraryValidation {
  id: string;
  externalId?: string;
  name: string;
  handleName: string;
  versionId: string;
  pass: boolean;
  message?: string;
}
export interface TransformationValidation {
  id: string;
  externalId?: string;
  name: string;
  versionId: string;
  imports: string[];
  pass: boolean;
  message?: string;
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
/** Transformations and libraries that were tested; `error` is what failed first. */
export interface TestResult {
  successTestResults: (TestedItem & { result: TestOutput })[];
  failedTestResults: (TestedItem & { result: TestOutput & UserErrorText })[];
}
interface TestedItem {
  /** Of transformations only. */
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
