import { type Static, Type } from "@sinclair/typebox";
import { TEST_CASES_MAX } from "../../../catalog/limits.ts";
import { DraftRunReport } from "../../../publishing/reports.ts";
import { PUBLISH_ITEMS_MAX, TEST_EVENTS_MAX } from "../../../settings/limits.ts";
import { invalidValue } from "../../request/validation.ts";
import { type ConditionalPermission, route } from "../../route.ts";
import { AnyObject, Code, Language, Name, strict, TestEvents } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { named, TestSuite } from "./publish.ts";

/** This file defines the routes that run code without saving it. */

const RunBody = Type.Object(
  {
    language: Language,
    name: Type.Optional(Name),
    code: Type.Optional(
      Type.String({ format: "code", description: "A transformation; without it libraries load" }),
    ),
    libraries: Type.Optional(
      Type.Array(Type.Object({ name: Name, code: Code }), {
        maxItems: PUBLISH_ITEMS_MAX,
        description: "Drafts, used instead of the published ones of the same importName",
      }),
    ),
    events: Type.Optional(TestEvents),
    testSuite: Type.Optional(
      Type.Array(TestSuite, {
        maxItems: TEST_CASES_MAX,
        description: "Test cases, which run in addition to `events`",
      }),
    ),
    metadata: Type.Optional(
      Type.Array(AnyObject, {
        maxItems: TEST_EVENTS_MAX,
        description: "For each event, what `metadata(event)` answers beside its values of a test",
      }),
    ),
  },
  { ...strict, $id: "Run" },
);
type RunBody = Static<typeof RunBody>;

const editPermissions: ConditionalPermission<{ body: RunBody }>[] = [
  {
    when: "it has code",
    permissions: ["transformations:edit"],
    holds: ({ body }) => body.code !== undefined,
  },
  {
    when: "it has libraries",
    permissions: ["libraries:edit"],
    holds: ({ body }) => Boolean(body.libraries?.length),
  },
];

export const runRoutes = [
  route("POST /v2/run", {
    summary: "Run code that is not saved over events, with the libraries and credentials there are",
    audit: "none",
    isLong: true,
    needs: [],
    alsoNeeds: editPermissions,
    body: RunBody,
    hasLargeBody: true,
    answer: DraftRunReport,
    example: {
      body: {
        language: "javascript",
        name: example.transformation.name,
        code: example.transformation.code,
        libraries: [{ name: "Text tools", code: example.library.code }],
        events: [example.event],
      },
      answer: {
        imports: ["textTools"],
        results: [
          { event: example.event, outputs: [{ ...example.event, properties: { title: "HOME" } }] },
        ],
        logs: [{ text: "Log: Home", event: 0, line: 3 }],
      },
    },
    async handle({ deps, workspaceId, body, request }) {
      const { language, name, code, libraries = [], testSuite = [] } = body;
      if (code === undefined && libraries.length === 0) {
        throw invalidValue("/code", "Expected code, or libraries, got neither");
      }
      return deps.publishing.run(workspaceId, {
        language,
        libraries,
        caller: request.signal,
        ...(code !== undefined && {
          transformation: {
            name: name?.trim() ?? UNNAMED,
            code,
            events: body.events ?? [],
            metadata: body.metadata ?? [],
            testSuite: testSuite.map(named),
          },
        }),
      });
    },
  }),
] as const;

/** Name in error messages for code to which the request gives no name. */
const UNNAMED = "code";
