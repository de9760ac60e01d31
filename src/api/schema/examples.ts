import type { Permission } from "../../catalog/model.ts";

/** Examples in the OpenAPI document. All describe one workspace: a shop that records page views. */

export const ids = {
  workspace: "01JD3Q5W8FJ0ZC9N7T2YVKXH4M1",
  transformation: "01JD3Q7A2M4R8KX1VZ6PW0NBYE5",
  transformationVersion: "01JD3Q7A2N9C5HT3QJ8DGSFU6L2",
  library: "01JD3Q6G7B1XE4ZP9MRK3WCVT80",
  libraryVersion: "01JD3Q6G7C6YD2KN5VHQ8AJSX49",
  source: "01JD3Q5Y1R7TZ0WB4MGX6ECKH93",
  otherSource: "01JD3Q5Z4P8QW2XK6NBT9HVRC51",
  destination: "01JD3Q60KS5PN8VA2JYQ7DTRF61",
  connection: "01JD3Q61VW9HG3XC7ZBM0KESJ25",
  member: "01JD3Q63QB2FK6RT8WNV1PYAX74",
  token: "01JD3Q64ZC7MS0EG5HJD9XQKV38",
  credential: "01JD3Q66DT4YB8PW1CRA3NZGM50",
  /** Secret of the token in the examples of the API documentation. */
  secret: "pm_f3V0vM9c2YxJ7QdR1sWnKeLtBzHaUgPo",
  deadLetter: "01JD3QB9XA3VE7KJ6QTS0HWNC82",
  replay: "01JD3QC1RT5PW8YB2MKZ4XGHN60",
} as const;

const times = {
  createdAt: "2026-02-16T01:11:11.586Z",
  updatedAt: "2026-02-16T01:11:11.586Z",
} as const;

const transformationCode = `import { upper } from "textTools";
export function transformEvent(event) {
  event.properties.title = upper(event.properties.title);
  return event;
}`;
const libraryCode = `export const upper = (text) => String(text ?? "").toUpperCase();`;

export const transformationVersion = {
  id: ids.transformation,
  versionId: ids.transformationVersion,
  name: "Shout titles",
  description: "Writes page titles in capitals",
  code: transformationCode,
  codeVersion: "1" as const,
  language: "javascript" as const,
  ...times,
  workspaceId: ids.workspace,
  imports: ["textTools"],
  isPublished: false,
  createdBy: ids.token,
  createdWith: ids.token,
};

export const transformation = {
  ...transformationVersion,
  isPublished: true,
  destinations: [{ id: ids.destination, name: "Warehouse hook", enabled: true }],
};

export const libraryVersion = {
  id: ids.library,
  versionId: ids.libraryVersion,
  name: "Text tools",
  description: "",
  code: libraryCode,
  language: "javascript" as const,
  ...times,
  workspaceId: ids.workspace,
  imports: [],
  importName: "textTools",
  isPublished: true,
  createdBy: ids.token,
  createdWith: ids.token,
};

export const library = {
  ...libraryVersion,
  workspace: { id: ids.workspace, name: "Default" },
};

export const event = {
  type: "page",
  anonymousId: "anon-1",
  messageId: "0d3b21d9-4b6c-4e2c-9d6f-0f3a8f1f7a11",
  properties: { title: "Home" },
  context: {},
};

export const source = {
  id: ids.source,
  workspaceId: ids.workspace,
  name: "Shop",
  type: "http",
  writeKey: "2Xb7qUeZr0mDq1c9GkJf4sVwT8n",
  enabled: true,
  config: {},
  ...times,
} as const;

export const destination = {
  id: ids.destination,
  workspaceId: ids.workspace,
  name: "Warehouse hook",
  type: "webhook",
  version: 1,
  enabled: true,
  config: { webhookUrl: "https://hooks.example.com/pixels", batchSize: 1 },
  ...times,
};

export const connection = {
  id: ids.connection,
  workspaceId: ids.workspace,
  sourceId: ids.source,
  destinationId: ids.destination,
  enabled: true,
  ...times,
};

export const member = {
  id: ids.member,
  name: "Ada",
  email: "ada@example.com",
  role: "admin" as const,
  editTransformations: true,
  permissions: [] as Permission[],
  ...times,
};

export const token = {
  id: ids.token,
  name: "Continuous integration",
  permissions: ["transformations:edit"] as Permission[],
  createdAt: times.createdAt,
};

export const session = {
  token: { id: ids.token, name: token.name },
  workspace: { id: ids.workspace, name: "Default" },
  permissions: token.permissions,
  expiresAt: "2026-02-16T13:11:11.586Z",
};

export const credential = { id: ids.credential, name: "SHOP_KEY", ...times };

export const suspension = {
  transformationVersionId: ids.transformationVersion,
  name: "Page titles",
  until: "2026-02-16T01:16:11.586Z",
  reason: "TypeError: Cannot read properties of undefined (reading 'title')",
} as const;

export const deadLetterGroup = {
  id: `${ids.destination}.3w5e11264sg`,
  destinationId: ids.destination,
  stage: "deliver",
  reason: "The receiver answered 400",
  count: 1,
  lastAt: times.createdAt,
} as const;

export const replay = {
  id: ids.replay,
  kind: "events",
  state: "running",
  destinationId: ids.destination,
  from: "2026-02-15T00:00:00.000Z",
  to: "2026-02-16T01:11:11.586Z",
  filter: { type: "page" },
  rate: 1_000,
  progress: 0.25,
  counts: { done: 500, delivered: 480, dropped: 20, failed: 0, discarded: 0, moved: 0 },
  left: 1_500,
  perSecond: 250,
  reachedAt: "2026-02-15T06:17:40.102Z",
  createdAt: times.createdAt,
} as const;

export const deadLetter = {
  id: ids.deadLetter,
  sourceId: ids.source,
  destinationId: ids.destination,
  messageId: event.messageId,
  stage: "deliver",
  reason: "The receiver answered 400",
  attempts: 1,
  event,
  receivedAt: times.createdAt,
  createdAt: times.createdAt,
} as const;
