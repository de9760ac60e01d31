import { Type } from "@sinclair/typebox";
import { AnyObject } from "../../schema/common.ts";

/** Schemas for the reports of publish tests and test runs. rudder-cli reads this format. */

const Status = Type.Union([Type.Literal("pass"), Type.Literal("fail"), Type.Literal("error")]);

const SuiteResult = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    status: Status,
    actualOutput: Type.Array(Type.Unknown()),
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
          { description: "Code that does not load, or any of whose events fails" },
        ),
      ),
    }),
  },
  { $id: "TestReport" },
);
