import { Type } from "@sinclair/typebox";
import { DIFFERENCES_MAX } from "../../../publishing/testing/differences.ts";
import { oneOf } from "../../../settings/schema-types.ts";
import { AnyObject } from "../../schema/common.ts";

/** Schemas for the reports of publish tests and test runs. rudder-cli reads this format. */

const Status = oneOf(["pass", "fail", "error"]);

export const Differences = Type.Array(
  Type.Object({
    path: Type.String({ description: "JSON pointer into the list of outputs" }),
    expected: Type.Optional(Type.String({ description: "JSON text; absent: nothing expected" })),
    actual: Type.Optional(Type.String({ description: "JSON text; absent: nothing came" })),
  }),
  { description: `Where the outputs differ from the expected ones, the first ${DIFFERENCES_MAX}` },
);

export const SuiteResult = Type.Object(
  {
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
        event: AnyObject,
        eventIndex: Type.Integer(),
        line: Type.Optional(Type.Integer()),
        column: Type.Optional(Type.Integer()),
      }),
    ),
    logs: Type.Array(Type.String()),
  },
  { $id: "SuiteResult" },
);

const LibraryValidation = Type.Object(
  {
    id: Type.String(),
    externalId: Type.Optional(Type.String()),
    name: Type.String(),
    handleName: Type.String(),
    versionId: Type.String(),
    pass: Type.Boolean(),
    message: Type.Optional(Type.String()),
  },
  { $id: "LibraryValidation" },
);

const TransformationValidation = Type.Object(
  {
    id: Type.String(),
    externalId: Type.Optional(Type.String()),
    name: Type.String(),
    versionId: Type.String(),
    imports: Type.Array(Type.String()),
    pass: Type.Boolean(),
    message: Type.Optional(Type.String()),
    testResult: Type.Object({ status: Status, results: Type.Array(SuiteResult) }),
  },
  { $id: "TransformationValidation" },
);

export const ValidationOutput = Type.Object(
  {
    libraries: Type.Array(LibraryValidation),
    transformations: Type.Array(TransformationValidation),
  },
  { $id: "ValidationOutput" },
);

const item = {
  transformerVersionID: Type.Optional(Type.String({ description: "Of transformations only" })),
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

export const TestReport = Type.Object(
  {
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
  },
  { $id: "TestReport" },
);
