import { type Static, Type } from "@sinclair/typebox";
import { component, oneOf, text } from "../settings/schema-types.ts";

/**
 * Schemas of the reports of test runs, with or without publishing. The API returns these reports,
 * and rudder-cli reads them.
 */

/** Maximum number of differences that the result of one test suite contains. */
export const DIFFERENCES_MAX = 20;

const Event = Type.Record(Type.String(), Type.Unknown());
const Status = oneOf(["pass", "fail", "error"]);

export const Differences = Type.Array(
  Type.Object({
    path: text("JSON pointer into the list of outputs"),
    expected: Type.Optional(text("JSON text; absent: nothing expected")),
    actual: Type.Optional(text("JSON text; absent: nothing came")),
  }),
  { description: `Where the outputs differ from the expected ones, the first ${DIFFERENCES_MAX}` },
);

/** One place at which an output differs from the expected one. */
export type Difference = Static<typeof Differences>[number];

const SuiteResult = component("SuiteResult", {
  id: Type.String(),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  status: Status,
  actualOutput: Type.Array(Type.Unknown()),
  expectedOutput: Type.Optional(Type.Array(Type.Unknown())),
  differences: Type.Optional(Differences),
  errors: Type.Array(
    Type.Object({
      message: Type.String(),
      event: Event,
      eventIndex: Type.Integer(),
      line: Type.Optional(Type.Integer()),
      column: Type.Optional(Type.Integer()),
    }),
  ),
  logs: Type.Array(Type.String()),
});
export type SuiteResult = Static<typeof SuiteResult>;

const validationFields = {
  id: Type.String(),
  externalId: Type.Optional(Type.String()),
  name: Type.String(),
  versionId: Type.String(),
  pass: Type.Boolean(),
  message: Type.Optional(Type.String()),
};
const LibraryValidation = component("LibraryValidation", {
  ...validationFields,
  handleName: Type.String(),
});
export type LibraryValidation = Static<typeof LibraryValidation>;

const TransformationValidation = component("TransformationValidation", {
  ...validationFields,
  imports: Type.Array(Type.String()),
  testResult: Type.Object({ status: Status, results: Type.Array(SuiteResult) }),
});
export type TransformationValidation = Static<typeof TransformationValidation>;

export const ValidationOutput = component("ValidationOutput", {
  libraries: Type.Array(LibraryValidation),
  transformations: Type.Array(TransformationValidation),
});

/** Schema of the result of test suites that run without publishing. */
export const SuitesReport = Type.Object({
  pass: Type.Boolean(),
  message: Type.Optional(Type.String()),
  validationOutput: ValidationOutput,
});
export type SuitesReport = Static<typeof SuitesReport>;

const item = {
  transformerVersionID: Type.Optional(text("Of transformations only")),
  id: Type.String(),
  name: Type.String(),
};
const output = {
  output: Type.Object({
    transformedEvents: Type.Array(Type.Unknown()),
    logs: Type.Array(Type.String()),
  }),
  testCases: Type.Optional(
    Type.Array(SuiteResult, { description: "Test cases that are stored with the transformation" }),
  ),
};

/**
 * Schema of the result of testing code. `successTestResults` contains the transformations that
 * passed. `failedTestResults` contains the transformations and libraries that failed, each with its
 * first error.
 */
export const TestReport = component("TestReport", {
  result: Type.Object({
    successTestResults: Type.Array(Type.Object({ ...item, result: Type.Object(output) })),
    failedTestResults: Type.Array(
      Type.Object(
        {
          ...item,
          result: Type.Object({
            error: Type.String(),
            line: Type.Optional(Type.Integer()),
            column: Type.Optional(Type.Integer()),
            ...output,
          }),
        },
        {
          description:
            "Code that does not load, fails for an event, or makes other outputs than expected",
        },
      ),
    ),
  }),
});
export type TestResult = Static<typeof TestReport>["result"];

const line = Type.Optional(Type.Integer({ description: "From 1 on" }));
const library = Type.Optional(
  text("importName of the library that it is in; else it is in the code"),
);
const CodeError = component("CodeError", { message: Type.String(), line, column: line, library });

/** Schema of the report of a draft run, which tests code without storing it. */
export const DraftRunReport = component("RunReport", {
  error: Type.Optional(CodeError),
  imports: Type.Array(Type.String()),
  results: Type.Array(
    Type.Object({
      event: Event,
      outputs: Type.Optional(
        Type.Array(Type.Unknown(), {
          description: "What the event became; none: it was dropped",
        }),
      ),
      error: Type.Optional(CodeError),
    }),
    { description: "One for each event, in their order; none when the code does not load" },
  ),
  logs: Type.Array(
    Type.Object({
      text: Type.String(),
      event: Type.Optional(
        Type.Integer({ description: "Index of the event; absent where it is not known" }),
      ),
      line,
      library,
    }),
  ),
  testSuites: Type.Optional(
    Type.Array(SuiteResult, { description: "One for each test case of the request" }),
  ),
});
export type DraftRunReport = Static<typeof DraftRunReport>;
