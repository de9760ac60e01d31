import { type Static, type TSchema, Type } from "@sinclair/typebox";
import type {
  CodeSelection,
  PublishResult,
  TestSuite as SuiteInput,
} from "../../../publishing/publisher.ts";
import { SuitesReport, TestReport, ValidationOutput } from "../../../publishing/reports.ts";
import { PUBLISH_ITEMS_MAX } from "../../../settings/limits.ts";
import { component, text } from "../../../settings/schema-types.ts";
import { invalidValue } from "../../request/validation.ts";
import { jsonResponse } from "../../response/errors.ts";
import { type ConditionalPermission, type ResourceCall, route } from "../../route.ts";
import { Id, Note, TestEvents } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { namedCode } from "./current-code.ts";
import { TestInput, testInputList } from "./publish-requests.ts";
import { Warnings } from "./revision-answers.ts";

/** This file defines the routes that publish several revisions together, or only test them. */

export const TestSuite = component("TestSuite", {
  id: Type.Optional(text("Its name, when absent")),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  input: TestEvents,
  expectedOutput: Type.Optional(TestEvents),
});

const TransformationItem = Type.Object({
  versionId: Id,
  testInput: TestInput,
  testSuite: Type.Optional(Type.Array(TestSuite, { maxItems: PUBLISH_ITEMS_MAX })),
});

const versions = <Item extends TSchema>(item: Item) =>
  Type.Optional(Type.Array(Type.Union([Id, item]), { maxItems: PUBLISH_ITEMS_MAX }));

const Revisions = Type.Object(
  {
    transformations: versions(TransformationItem),
    libraries: versions(Type.Object({ versionId: Id })),
    note: Note,
    commitId: Type.Optional(text("Sent by RudderStack's GitHub Action; has no effect")),
  },
  {
    $id: "Revisions",
    description:
      "At least one of the two lists, and not both empty. RudderStack's GitHub Action may send two " +
      "empty lists: for a test, and with `commitId` to publish",
  },
);
type Revisions = Static<typeof Revisions>;

const editPermissions = (["transformations", "libraries"] as const).map(
  (list): ConditionalPermission<{ body: Revisions }> => ({
    when: `it names ${list}`,
    permissions: [`${list}:edit`],
    holds: ({ body }) => Boolean(body[list]?.length),
  }),
);

/** Options shared by the routes whose body is a list of revisions. */
const takesRevisions = {
  isLong: true,
  needs: [],
  alsoNeeds: editPermissions,
  body: Revisions,
  hasLargeBody: true,
} as const;

const exampleBody = {
  transformations: [{ versionId: example.ids.transformationVersion, testInput: [example.event] }],
  libraries: [{ versionId: example.ids.libraryVersion }],
};

/** Schema of the response to a publish request. `validationOutput` lists the failed tests. */
const Published = Type.Object({
  published: Type.Boolean(),
  message: Type.Optional(Type.String()),
  validationOutput: Type.Optional(ValidationOutput),
  warnings: Warnings,
});

export const publishRoutes = [
  route("POST /libraries/publish", {
    summary: "Publish revisions of transformations and libraries, all or nothing",
    aliases: ["/transformations/libraries/publish"],
    ...takesRevisions,
    answer: Published,
    refusal: Published,
    current: namedResources,
    example: { body: exampleBody, answer: { published: true } },
    async handle({ deps, workspaceId, body, request }) {
      if (isEmpty(body) && body.commitId !== undefined) return { published: true };
      const result = await deps.publishing.publish(workspaceId, selection(body, request));
      // RudderStack's GitHub Action counts any 2xx as a success, so that a refused publish is a
      // 400.
      return result.published ? result : jsonResponse(result, 400);
    },
  }),

  route("POST /transformations/publish", {
    summary: "The same with 200 whether tests pass or fail, as rudder-cli reads it",
    ...takesRevisions,
    answer: Published,
    current: namedResources,
    example: { body: exampleBody, answer: { published: true } },
    handle: ({ deps, workspaceId, body, request }): Promise<PublishResult> =>
      deps.publishing.publish(workspaceId, selection(body, request)),
  }),

  route("POST /transformations/libraries/test", {
    summary: "Run revisions over test events without publishing them",
    aliases: ["/libraries/test"],
    audit: "none",
    ...takesRevisions,
    answer: TestReport,
    example: {
      body: exampleBody,
      answer: {
        result: {
          successTestResults: [
            {
              transformerVersionID: example.ids.transformationVersion,
              id: example.ids.transformation,
              name: example.transformation.name,
              result: { output: { transformedEvents: [example.event], logs: [] } },
            },
          ],
          failedTestResults: [],
        },
      },
    },
    handle: async ({ deps, workspaceId, body, request }) => ({
      result: isEmpty(body)
        ? { successTestResults: [], failedTestResults: [] }
        : await deps.publishing.test(workspaceId, selection(body, request)),
    }),
  }),

  route("POST /transformations/tests/run", {
    summary: "Run test suites of input and expected output without publishing",
    audit: "none",
    ...takesRevisions,
    answer: SuitesReport,
    example: {
      body: {
        transformations: [
          {
            versionId: example.ids.transformationVersion,
            testSuite: [{ id: "s1", name: "Home page", input: [example.event] }],
          },
        ],
      },
      answer: { pass: true, validationOutput: { libraries: [], transformations: [] } },
    },
    handle: ({ deps, workspaceId, body, request }) =>
      deps.publishing.runSuites(workspaceId, selection(body, request)),
  }),
] as const;

/**
 * Returns the current state of the transformations and libraries whose revisions a publish request
 * lists.
 */
function namedResources({ deps, workspaceId, body }: ResourceCall<"/", Revisions>) {
  if (isEmpty(body)) return [];
  const { transformations, libraries } = items(body);
  return namedCode(deps, workspaceId, [
    ...transformations.map(({ versionId }) => ({ kind: "transformation" as const, versionId })),
    ...libraries.map(({ versionId }) => ({ kind: "library" as const, versionId })),
  ]);
}

/**
 * Whether a request sends an empty list of transformations and an empty list of libraries, for
 * example from a repository without code.
 */
function isEmpty({ transformations, libraries }: Revisions): boolean {
  return transformations?.length === 0 && libraries?.length === 0;
}

/**
 * Returns the revisions that a request lists, each as an object with its `versionId`; for a
 * transformation, the object may also have test events and test suites. Throws if the request lists
 * no revision.
 */
function items({ transformations = [], libraries = [] }: Revisions) {
  if (transformations.length + libraries.length === 0) {
    throw invalidValue("", "Expected at least one item in transformations or libraries, got none");
  }
  return {
    transformations: transformations.map((item) =>
      typeof item === "string" ? { versionId: item } : item,
    ),
    libraries: libraries.map((item) => ({
      versionId: typeof item === "string" ? item : item.versionId,
    })),
  };
}

function selection(body: Revisions, { signal }: Request): CodeSelection {
  const { transformations, libraries } = items(body);
  return {
    caller: signal,
    ...(body.note !== undefined && { note: body.note }),
    libraries,
    transformations: transformations.map(({ versionId, testInput, testSuite }, index) => {
      const path = `/transformations/${index}/testInput`;
      return {
        versionId,
        ...(testInput !== undefined && { testInput: testInputList(testInput, path) }),
        ...(testSuite && { testSuite: testSuite.map(named) }),
      };
    }),
  };
}

/** Returns a test suite with an id: its id in the request or, if it has none there, its name. */
export function named({ id, ...suite }: Static<typeof TestSuite>): SuiteInput {
  return { ...suite, id: id ?? suite.name };
}
