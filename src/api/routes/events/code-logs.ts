import { Type } from "@sinclair/typebox";
import { component, optionalInteger, text } from "../../../settings/schema-types.ts";
import { readsEvents, route } from "../../route.ts";
import { Id, isoTime, MissingNodes, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { latestCodeLogs } from "../status/node-status.ts";

/** Number of log lines in a response if the request has no `limit`. */
const LINES_DEFAULT = 100;
/** Maximum number of log lines in a response. */
const LINES_MAX = 500;
/** Maximum length of the text by which a request filters log lines. */
const TEXT_CHARS_MAX = 255;

const CodeLogLine = component("CodeLogLine", {
  id: text("For `after` and `before`; sorts by time"),
  at: Time,
  text: Type.String(),
  transformationId: Type.String(),
  transformationVersionId: Type.String(),
  revision: Type.Integer({
    description: "Number of the revision among those of the transformation, from 1 on",
  }),
  destinationId: Type.String(),
  messageId: Type.Optional(
    text("Absent where the event is not known: after an `await`, or in `transformBatch`"),
  ),
  line: Type.Optional(Type.Integer({ description: "Line of the code, from 1 on" })),
  library: Type.Optional(text("importName of the library that logged; else it is the code")),
});

export const codeLogRoutes = [
  route("GET /v2/logs", {
    summary: "List the latest lines that live code wrote with `log(…)`, newest first",
    ...readsEvents,
    query: {
      transformationId: Type.Optional(Id),
      transformationVersionId: Type.Optional(Id),
      destinationId: Type.Optional(Id),
      messageId: Type.Optional(Id),
      text: Type.Optional(
        Type.String({ maxLength: TEXT_CHARS_MAX, description: "Part of the line, in any case" }),
      ),
      after: Type.Optional({ ...Id, description: "Id of a line: lists later lines alone" }),
      before: Type.Optional({ ...Id, description: "Id of a line: lists earlier lines alone" }),
      limit: optionalInteger(1, LINES_MAX, { default: LINES_DEFAULT }),
    },
    answer: Type.Object({ lines: Type.Array(CodeLogLine), missingNodes: MissingNodes }),
    example: {
      answer: {
        lines: [
          {
            id: example.ids.logLine,
            at: "2026-02-16T01:11:11.586Z",
            text: "Log: Home",
            transformationId: example.ids.transformation,
            transformationVersionId: example.ids.transformationVersion,
            revision: 1,
            destinationId: example.ids.destination,
            messageId: example.event.messageId,
            line: 3,
          },
        ],
      },
    },
    async handle({ deps, workspaceId, query: { limit = LINES_DEFAULT, ...filter } }) {
      const { lines, missingNodes } = await latestCodeLogs(deps, workspaceId, filter, limit);
      const numbers = new Map<string, number>();
      const numberOf = (id: string, versionId: string) =>
        numbers.getOrInsertComputed(versionId, () =>
          deps.catalog.code.revisionNumber({ id, versionId }),
        );
      return {
        lines: lines.map(({ at, ...line }) => ({
          ...line,
          revision: numberOf(line.transformationId, line.transformationVersionId),
          at: isoTime(at),
        })),
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),
] as const;
