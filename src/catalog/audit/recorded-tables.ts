import type { Key } from "lmdb";
import type { AlertReceiver, AlertRule } from "../alerts/model.ts";
import type {
  Connection,
  Credential,
  Destination,
  Member,
  Resource,
  Revision,
  Source,
  TestCase,
  Token,
  Workspace,
} from "../model.ts";
import type { StoredSession } from "../tables/tables.ts";
import type { ComparableItem } from "./field-changes.ts";

/** A row of the catalog in the form that the audit log shows. */
export interface RecordedItem extends ComparableItem {
  type: string;
  id: string;
  name: string;
  workspaceId: string;
  /**
   * Ids of other items that the audit entry concerns, such as a connection's source and
   * destination.
   */
  concerns?: readonly string[];
  /**
   * Id of the token that the audit entry names as the actor when the request has no token. For
   * example, a request that begins a session has no token, and its entry names the session's token.
   */
  tokenId?: string;
  /**
   * Reason that a user gave for the last change of the item. The audit entry shows it beside the
   * changed fields.
   */
  note?: string;
  /**
   * Number that changes whenever a caller changes the item, such as the time of the change. If it
   * has changed, an audit entry is stored even if all fields keep their values.
   */
  version?: number | undefined;
}

/**
 * Function that reads a row of a table as the transaction in progress sees it. For a row that the
 * transaction has removed, it returns the row as it was before the transaction.
 */
export type ReadRow = <T>(table: string, key: string) => T | undefined;

/** Returns a destination's config without secrets. */
export type ShowConfig = (type: string, config: Record<string, unknown>) => Record<string, unknown>;

interface Context {
  read: ReadRow;
  showConfig: ShowConfig;
}

/**
 * Converts a row to the form that the audit log shows. Returns undefined for a row that the audit
 * log leaves out.
 */
type Describe<Row> = (row: Row, key: Key, context: Context) => RecordedItem | undefined;

/** Tables whose writes the audit log records, each with the function that describes its rows. */
const recorded = {
  workspaces: (row: Workspace) =>
    item("workspace", { ...row, workspaceId: row.id }, { name: row.name }),
  members(row: Member) {
    const { name, email, role, editTransformations, permissions, workspaceRole, identity } = row;
    const granted = { role, editTransformations, permissions, workspaceRole };
    return item("member", row, { name, email, ...granted, identity });
  },
  tokens(row: Token) {
    const { name, permissions, memberId, expiresAt } = row;
    const fields = { name, permissions, memberId, expiresAt: iso(expiresAt) };
    return { ...item("token", row, fields), ...(memberId && { concerns: [memberId] }) };
  },
  credentials: (row: Credential) => ({
    ...item("credential", row, { name: row.name }),
    secrets: { value: String(row.updatedAt) },
  }),
  sources(row: Source) {
    const { name, type, typeAs, enabled, config, externalId } = row;
    const { geoEnrichmentEnabled, transient, settings } = row;
    const shown = { name, type: typeAs ?? type, enabled, config, externalId };
    return {
      ...item("source", row, { ...shown, geoEnrichmentEnabled, transient, settings }),
      secrets: { writeKey: row.writeKey },
    };
  },
  destinations(row: Destination, _, { showConfig }) {
    const { name, type, typeAs, deliveredBy, version, enabled, externalId } = row;
    const { consentIds, filter } = row;
    const config = showConfig(type, row.config);
    const hidden = Object.entries(row.config).flatMap(([key, value]): [string, string][] => {
      const text = JSON.stringify(value);
      return text === JSON.stringify(config[key]) ? [] : [[`config.${key}`, text]];
    });
    const fields = { name, type: typeAs ?? type, version, enabled, config, externalId };
    return {
      ...item("destination", row, { ...fields, consentIds, filter, deliveredBy }),
      secrets: Object.fromEntries(hidden),
    };
  },
  connections(row: Connection, _, { read }) {
    const { sourceId, destinationId, enabled, externalId } = row;
    const source = read<Source>("sources", sourceId)?.name ?? sourceId;
    const destination = read<Destination>("destinations", destinationId)?.name ?? destinationId;
    const named = { ...row, name: `${source} → ${destination}` };
    return {
      ...item("connection", named, { sourceId, destinationId, enabled, externalId }),
      concerns: [sourceId, destinationId],
    };
  },
  resources(row: Resource, _, { read }) {
    const { language, newest, published, externalId, note } = row;
    const revision = read<Revision>("revisions", newest);
    const { name = row.id, description } = revision ?? {};
    const fields = { name, description, language, revision: newest, published, externalId };
    return {
      ...item(row.kind, { ...row, name }, row.deleted ? { externalId } : fields),
      ...(note !== undefined && { note }),
    };
  },
  "test-cases"({ id, name, description, versionId }: TestCase, key, { read }) {
    const [transformationId] = key as [transformationId: string, id: string];
    const transformation = read<Resource>("resources", transformationId);
    if (transformation === undefined) return undefined;
    const { workspaceId } = transformation;
    return {
      ...item("test-case", { id, name, workspaceId }, { name, description, versionId }),
      concerns: [transformationId],
    };
  },
  links({ transformationId }: { transformationId: string }, key, { read }) {
    const destinationId = String(key);
    const destination = read<Destination>("destinations", destinationId);
    if (destination === undefined) return undefined;
    return {
      ...item("link", destination, { transformationId, destinationId }),
      concerns: [transformationId],
    };
  },
  "alert-rules"(row: AlertRule) {
    const { id: _, workspaceId: _w, createdAt: _c, updatedAt: _u, quietHours, ...fields } = row;
    return item("alert-rule", row, { ...fields, quietHours: quietHours && { ...quietHours } });
  },
  "alert-receivers"(row: AlertReceiver) {
    const { name, type, enabled, to, url = "", routingKey = "", authorization = "" } = row;
    const host = URL.parse(url)?.host;
    return {
      ...item("alert-receiver", row, { name, type, enabled, to, host }),
      secrets: { url, routingKey, authorization },
    };
  },
  sessions({ tokenId, expiresAt }: StoredSession, _, { read }) {
    const token = read<Token>("tokens", tokenId);
    // The server deletes sessions that have ended by themselves.
    if (token === undefined || expiresAt <= Date.now()) return undefined;
    return { ...item("session", token, { expiresAt: iso(expiresAt) }), tokenId };
  },
} satisfies Record<string, Describe<never>>;

/**
 * Tables whose writes the audit log leaves out: indexes and copies of recorded rows, and rows for
 * the server's own use. A table neither in this set nor in `recorded` cannot be opened.
 */
const unrecorded = new Set([
  ...["members", "tokens", "credentials", "sources", "destinations", "connections"].map(
    (name) => `${name}-order`,
  ),
  ...["sources", "destinations", "connections", "resources"].map((name) => `${name}-by-mark`),
  ...["tokens-by-hash", "tokens-by-member", "token-uses", "sessions-by-token"],
  ...["members-by-identity", "sessions-by-provider"],
  ...["credentials-by-name", "credential-values", "credential-stamps", "external-ids"],
  ...["sources-by-write-key", "connection-pairs", "connections-by-destination"],
  ...["topology-changes", "removed-connections", "epochs", "upgrades"],
  ...["drafts-by-workspace", "publications", "published-by-workspace", "links-by-transformation"],
  ...["revisions", "revisions-by-resource", "revision-counts", "pasts"],
  ...["libraries-by-import-name", "importers-by-import-name"],
  ...["alert-rules-order", "alert-receivers-order", "alert-receiver-states", "alert-marks"],
  ...["alerts", "alerts-order", "alerts-open", "alerts-pending", "alert-evaluator-lease"],
]);

/**
 * Returns the function that describes the rows of a table in the audit log. Returns undefined for a
 * table in `unrecorded`, and throws for an unknown table.
 */
export function describeRows(name: string): Describe<unknown> | undefined {
  if (unrecorded.has(name)) return undefined;
  const found = (recorded as Record<string, unknown>)[name];
  if (found === undefined) {
    throw new Error(
      `Expected the table ${name} in src/catalog/audit/recorded-tables.ts, as recorded or not`,
    );
  }
  return found as Describe<unknown>;
}

/**
 * Returns the verb for a change of a row of `table`, such as `update` in the audit action
 * `source.update`. `before` is undefined for a created row, `after` for a deleted row.
 */
export function verbOf(table: string, before: unknown, after: unknown): string {
  if (table === "resources") return verbOfCode(before as Resource, after as Resource);
  if (before !== undefined && after !== undefined) return "update";
  if (table === "sessions") return after === undefined ? "end" : "begin";
  return after === undefined ? "delete" : "create";
}

function verbOfCode(before?: Resource, after?: Resource): string {
  if (after?.deleted && !before?.deleted) return "delete";
  const published = after?.published;
  if (published === undefined || published === before?.published) {
    return before === undefined ? "create" : "update";
  }
  // Ids ascend also where their times are equal, as after the clock was set back.
  return published < (before?.published ?? "") ? "roll-back" : "publish";
}

type Row = Pick<RecordedItem, "id" | "name" | "workspaceId"> & { updatedAt?: number };

function item(type: string, row: Row, fields: RecordedItem["fields"]): RecordedItem {
  const { id, name, workspaceId, updatedAt } = row;
  return { type, id, name, workspaceId, fields, version: updatedAt };
}

const iso = (time: number | undefined) =>
  time === undefined ? undefined : new Date(time).toISOString();
