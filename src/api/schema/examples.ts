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
  /** Secret of the API token that the examples in the API documentation use. */
  secret: "pm_f3V0vM9c2YxJ7QdR1sWnKeLtBzHaUgPo",
  testCase: "01JD3Q7D4H6WN2ZC8RTK0VXPE73",
  logLine: "01JD3QD8M5TB7ZK1WXR9HN4VCE20",
  deadLetter: "01JD3QB9XA3VE7KJ6QTS0HWNC82",
  deadLetterGroup: "01JD3Q9F2K7SV4HX0TNB8ZPWYC3.3w5e11264sg",
  replay: "01JD3QC1RT5PW8YB2MKZ4XGHN60",
  alertRule: "01JD3QD4HN2VX6KB9TYW3MPZE71",
  alertReceiver: "01JD3QD3BW8RC5JZ1XGQ7NKVT46",
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
  wasPublished: false,
  createdBy: ids.token,
  createdWith: ids.token,
};

export const transformation = {
  ...transformationVersion,
  isPublished: true,
  wasPublished: true,
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
  wasPublished: true,
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
  settings: {
    geoEnrichment: false,
    ip: "truncate",
    bots: "mark",
    allowedOrigins: [] as string[],
    dedupSeconds: 0,
  },
  ...times,
} as const;

export const destination = {
  id: ids.destination,
  workspaceId: ids.workspace,
  name: "Warehouse hook",
  type: "webhook",
  deliveredBy: "pixelmill" as const,
  version: 1,
  enabled: true,
  endpoint: "https://hooks.example.com/pixels",
  config: { webhookUrl: "https://hooks.example.com/pixels", batchSize: 1 },
  secretsSet: [],
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

export const response = {
  status: 400,
  headers: { "content-type": "application/json", "x-request-id": "req_8fK2" },
  body: '{"error":"properties.price must be a number"}',
};

export const deadLetterGroup = {
  id: ids.deadLetterGroup,
  destinationId: ids.destination,
  stage: "deliver",
  reason: "HTTP 400 from receiver",
  status: 400,
  count: 1,
  firstAt: times.createdAt,
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
  counts: { done: 500, delivered: 480, dropped: 20, failed: 0, discarded: 0, moved: 0, pending: 0 },
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
  stage: "deliver" as const,
  reason: "HTTP 400 from receiver",
  attempts: 1,
  failedAttempts: [
    {
      at: times.createdAt,
      durationMs: 24,
      status: 400,
      reason: "HTTP 400 from receiver",
    },
  ],
  groupId: deadLetterGroup.id,
  response,
  event,
  receivedAt: times.createdAt,
  createdAt: times.createdAt,
};

export const auditEntry = {
  id: "01JD3QD4WB6RZ9XE2KMY7TGHC50",
  createdAt: times.createdAt,
  action: "destination.update",
  actor: { tokenId: ids.token, tokenName: token.name },
  client: "203.0.113.7",
  request: { id: "01JD3QD4WA2TZ5XE8KMY1TGHC73", route: "PUT /v2/destinations/{id}" },
  resource: { type: "destination", id: ids.destination, name: destination.name },
  changes: [
    { path: "config.batchSize", before: 1, after: 100 },
    { path: "config.headers", isSecret: true },
  ],
} as const;

export const alertRule = {
  id: ids.alertRule,
  name: "Delivery lag",
  kind: "lag" as const,
  subject: "destination" as const,
  enabled: true,
  threshold: 900,
  forSeconds: 60,
  clearSeconds: 300,
  subjectIds: [],
  receiverIds: [],
  quietHours: { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" },
  ...times,
};

export const alertReceiver = {
  id: ids.alertReceiver,
  name: "On call",
  type: "slack" as const,
  enabled: true,
  host: "hooks.slack.com",
  secretsSet: ["/url"],
  sentAt: "2026-02-16T01:11:11.586Z",
  ...times,
};

export const alert = {
  id: "01JD3QD9PC4YS7MH2VKE8WTXB35",
  state: "open" as const,
  kind: "lag" as const,
  rule: { id: ids.alertRule, name: alertRule.name },
  subject: { type: "destination" as const, id: ids.destination, name: "Warehouse hook" },
  message: "Warehouse hook lags 17 min behind: 12000 events not delivered",
  beganAt: "2026-02-16T01:11:11.586Z",
  notifications: [
    { receiverId: ids.alertReceiver, phase: "begin" as const, state: "sent" as const, attempts: 1 },
  ],
};
