import { openApiDocument } from "../../../src/api/document/openapi.ts";
import { routes } from "../../../src/api/route-table.ts";
import { limitGroups } from "./limits.ts";
import { type Node, nodesOf, type SourceFile, sourceFiles, textOf } from "./source.ts";
import { table } from "./table.ts";

/** Status of each refusal, from the table of src/api/response/errors.ts. */
async function statusesOfRefusals(): Promise<Map<string, number>> {
  const [file] = await sourceFiles(/const statuses\b/, "api/response/errors");
  const statuses = [...nodesOf(file!.tree)].find(
    ({ type, id }) => type === "VariableDeclarator" && id.name === "statuses",
  );
  const rows = statuses!.init.properties as Node[];
  return new Map(rows.map(({ key, value }) => [key.name ?? key.value, value.value]));
}

interface Message {
  status: number;
  text: string;
}

/**
 * Calls with a status or a refusal, and a message: `new ApiError("missing", "…")`, `refuse(400,
 * "…")`. Rows of tables with both: `413: ["…"]`.
 */
async function messagesOf(files: SourceFile[], statuses: Map<string, number>): Promise<Message[]> {
  const limits = new Map(
    [...(await limitGroups()).values()].flat().map(({ name, value }) => [name, value]),
  );
  const read = (expression: Node) => limits.get(expression.name)?.toString() ?? "…";
  const statusOf = ({ type, value }: Node): number | undefined => {
    if (type === "NumericLiteral" && value >= 400 && value < 600) return value;
    return type === "StringLiteral" ? statuses.get(value) : undefined;
  };
  const lists = files
    .flatMap(({ tree }) => [...nodesOf(tree)])
    .flatMap(({ type, arguments: given, key, value }): Node[][] => {
      if (type === "NewExpression" || type === "CallExpression") return [given];
      const isRow = type === "ObjectProperty" && value.type === "ArrayExpression";
      return isRow ? [[key, ...value.elements]] : [];
    });
  return lists.flatMap((given) =>
    given.flatMap((argument, at) => {
      const status = statusOf(argument);
      const text = status === undefined ? undefined : textOf(given[at + 1], read);
      return status === undefined || text === undefined || !saysMore(text)
        ? []
        : [{ status, text }];
    }),
  );
}

/** Whether a message has words of its own beside those that are filled in. */
const saysMore = (text: string) => /[a-z]{3}.* /.test(text.replace(/ at [/…].*/, ""));

function messagesTable(messages: Message[]): string {
  const unique = new Map(messages.map((message) => [`${message.status} ${message.text}`, message]));
  const rows = [...unique.values()]
    .sort((a, b) => a.status - b.status || (a.text < b.text ? -1 : 1))
    .map(({ status, text }) => [String(status), text]);
  return table(["status", "message"], rows);
}

interface Operation {
  summary: string;
  description: string;
  tags: string[];
  responses: Record<string, { description: string }>;
}

const isOfDataPlane = ({ tags }: Operation) => /pixel|sdk|rudder-server/.test(tags[0]!);

/** Returns what a request needs to be let in. */
function accessOf({ tags, description }: Operation): string {
  if (tags[0] === "rudder-server") return "`transformer.secret`, if set";
  return /pixel|sdk/.test(tags[0]!) ? "the write key" : description.replace(/Needs /g, "");
}

export async function errorsPage(): Promise<string> {
  const { paths } = openApiDocument(routes, {
    version: "",
    kinds: new Map(),
    dataPlaneUrl: () => "http://localhost:8080",
  });
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== "servers")
      .map(([method, operation]) => ({ path, method, operation: operation as Operation })),
  );
  const meanings = new Map(
    operations
      .filter(({ operation }) => !isOfDataPlane(operation))
      .flatMap(({ operation }) => Object.entries(operation.responses))
      .filter(([status]) => Number(status) >= 400)
      .map(([status, { description }]) => [status, description]),
  );
  const codes = [...meanings].sort(([a], [b]) => Number(a) - Number(b));
  const perRoute = operations.map(({ path, method, operation }) => [
    `\`${method.toUpperCase()} ${path}\``,
    Object.keys(operation.responses).join(", "),
    accessOf(operation),
  ]);
  const codesOf = (path: string) => {
    const { responses } = operations.find((it) => it.path === path)!.operation;
    const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
    return table(
      ["status", "meaning"],
      errors.map(([status, { description }]) => [status, description]),
    );
  };

  const statuses = await statusesOfRefusals();
  const refusals = [...statuses.keys()].join("|");
  const files = await sourceFiles(new RegExp(`\\b[45]\\d\\d\\b|"(${refusals})"`));
  const isDataPlane = ({ path }: SourceFile) => /^src\/(ingest|http)\//.test(path);
  const dataPlane = await messagesOf(files.filter(isDataPlane), statuses);
  const controlPlane = await messagesOf(
    files.filter((file) => !isDataPlane(file)),
    statuses,
  );

  return `# Errors

Every error body is \`{"message": "…"}\`; validation adds \`details\`, a list of \`{path, message}\` with a JSON pointer into the
body or \`?name\` of the query, and \`line\` and \`column\` for code; \`/v2/…\` adds \`error\`, which repeats the message. A message
never repeats the input. The 429 of a rate and every 503 have \`Retry-After\`.

## The data plane

Bodies have \`code\` too, the status as a number.

Pixels:

${codesOf("/pixel/v1/track")}
Events of SDKs:

${codesOf("/v1/batch")}
These messages have a fixed text, where \`…\` stands for a value; the other messages of 400 say which parameter is wrong:

${messagesTable(dataPlane)}
## The control plane

${table(["status", "meaning"], codes)}
Also, for any path: 404 where there is nothing, 405 for another method, 431 for a head over its limit, and 500 for a fault
of the server, which its log describes.

## Routes

Statuses that each route answers, and what it needs. \`/docs\` of a server has the bodies.

${table(["route", "statuses", "needs"], perRoute)}
## Messages

Messages of the control plane with a fixed text, where \`…\` stands for a value. Validation of bodies and queries adds
messages of the form \`Expected …, got … at /path\`.

${messagesTable(controlPlane)}`;
}
