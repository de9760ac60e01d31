import { type Static, Type } from "@sinclair/typebox";
import { TEST_CASE_EVENTS_MAX, TEST_CASES_MAX } from "../../../catalog/limits.ts";
import type { TestCase as StoredTestCase } from "../../../catalog/model.ts";
import { component, text } from "../../../settings/schema-types.ts";
import { currentState, Tagged } from "../../entity-tag.ts";
import { type ResourceCall, route } from "../../route.ts";
import { AnyObject, answerOf, Description, Id, Name, strict, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

/** This file defines the routes of the test cases that are stored with a transformation. */

const Outputs = Type.Array(AnyObject, {
  maxItems: TEST_CASE_EVENTS_MAX,
  description:
    "Outputs of all events, in order. Absent: the code may return anything, and must not fail",
});

const NewTestCase = Type.Object(
  {
    name: Name,
    description: Type.Optional(Description),
    input: Type.Array(AnyObject, { minItems: 1, maxItems: TEST_CASE_EVENTS_MAX }),
    expectedOutput: Type.Optional(Outputs),
  },
  { ...strict, $id: "NewTestCase" },
);

const TestCase = component("TestCase", {
  id: Id,
  versionId: text("A new one with every change"),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  input: Type.Array(AnyObject),
  expectedOutput: Type.Optional(Outputs),
  createdAt: Time,
  updatedAt: Time,
  updatedBy: Type.Optional(text("Id of the member, or of the service token, that changed it")),
});

const TestCaseAnswer = Type.Object({ testCase: TestCase });

const exampleCase = {
  id: example.ids.testCase,
  versionId: example.ids.testCase,
  name: "A title in capitals",
  input: [example.event],
  expectedOutput: [{ ...example.event, properties: { title: "HOME" } }],
  createdAt: example.transformation.createdAt,
  updatedAt: example.transformation.createdAt,
};
const { name, input, expectedOutput } = exampleCase;
const body = { name, input, expectedOutput };
const caseParams = { id: example.ids.transformation, caseId: example.ids.testCase };

const changes = { needs: ["transformations:edit"], readsInChange: true } as const;

export const testCaseRoutes = [
  route("GET /v2/transformations/{id}/test-cases", {
    summary: `List the test cases of a transformation, oldest first; at most ${TEST_CASES_MAX}`,
    needs: [],
    answer: Type.Object({ testCases: Type.Array(TestCase) }),
    example: {
      params: { id: example.ids.transformation },
      answer: { testCases: [exampleCase] },
    },
    handle: ({ deps, workspaceId, params }) => ({
      testCases: deps.catalog.testCases.list(workspaceId, params.id).map(testCaseAnswer),
    }),
  }),

  route("POST /v2/transformations/{id}/test-cases", {
    ...changes,
    summary: "Add a test case, which runs with each test and before each publish",
    body: NewTestCase,
    hasLargeBody: true,
    status: 201,
    creates: true,
    answer: TestCaseAnswer,
    example: {
      params: { id: example.ids.transformation },
      body,
      answer: { testCase: exampleCase },
    },
    async handle({ deps, principal: createdBy, workspaceId, params, body }) {
      const { testCases } = deps.catalog;
      return taggedTestCase(await testCases.add(workspaceId, params.id, { ...body, createdBy }));
    },
  }),

  route("PUT /v2/transformations/{id}/test-cases/{caseId}", {
    ...changes,
    summary: "Replace a test case",
    body: NewTestCase,
    hasLargeBody: true,
    answer: TestCaseAnswer,
    current,
    example: { params: caseParams, body, answer: { testCase: exampleCase } },
    async handle({ deps, principal: createdBy, workspaceId, params: { id, caseId }, body }) {
      const input = { ...body, createdBy };
      return taggedTestCase(await deps.catalog.testCases.replace(workspaceId, id, caseId, input));
    },
  }),

  route("DELETE /v2/transformations/{id}/test-cases/{caseId}", {
    ...changes,
    summary: "Delete a test case",
    status: 204,
    answer: Type.Undefined(),
    current,
    example: { params: caseParams, answer: undefined },
    async handle({ deps, workspaceId, params: { id, caseId } }) {
      await deps.catalog.testCases.remove(workspaceId, id, caseId);
      return undefined;
    },
  }),
] as const;

function current({ deps, workspaceId, params }: ResourceCall<"/{id}/{caseId}", unknown>) {
  const { id, caseId } = params;
  const now = taggedTestCase(deps.catalog.testCases.get(workspaceId, id, caseId));
  return [currentState("test case", now, now.answer.testCase)];
}

/**
 * Returns the answer about a test case. Its entity tag is the `versionId` of the test case, because
 * each change gives the test case a new `versionId`.
 */
function taggedTestCase(testCase: StoredTestCase): Tagged<Static<typeof TestCaseAnswer>> {
  return new Tagged({ testCase: testCaseAnswer(testCase) }, testCase.versionId);
}

function testCaseAnswer(testCase: StoredTestCase): Static<typeof TestCase> {
  const { createdBy } = testCase;
  return answerOf(TestCase, {
    ...testCase,
    updatedBy: createdBy?.memberId ?? createdBy?.tokenId,
  });
}
