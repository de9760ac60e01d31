/** One entry of the audit log: who did what, when, from where, and what it changed. */
export interface AuditEntry {
  /** Id that sorts by time. */
  id: string;
  /** Workspace that the entry belongs to. Empty for a refused token that no workspace knows. */
  workspaceId: string;
  at: number;
  /** Type of the resource and what happened to it, such as `destination.update`. */
  action: string;
  /** Who did it. Empty for a change that the server made by itself. */
  actor: AuditActor;
  /** Address of the client; absent when it is unknown. */
  client?: string;
  request?: { id: string; route: string };
  resource?: AuditResource;
  /** Ids of other items that the entry concerns, such as both ends of a connection. */
  concerns?: readonly string[];
  /** Changed fields. A created item has all its fields here, a deleted one the fields it had. */
  changes: FieldChange[];
  /** Number of changed fields that were left out because there were too many or too long ones. */
  changesLeftOut?: number;
  /**
   * Whether an action outside the catalog, such as a replay, was done. `unknown` while it runs, and
   * when the server stopped before it ended.
   */
  outcome?: "done" | "failed" | "unknown";
  /** Why a token was refused, or an action failed. */
  reason?: string;
  /** Number of requests that the entry stands for, and of their addresses if they are not named. */
  requests?: number;
  addresses?: number;
}

/** Token and member behind an entry, with the names that they had at that time. */
export interface AuditActor {
  tokenId?: string;
  tokenName?: string;
  memberId?: string;
  memberName?: string;
}

/** Item that an entry is about, with the name that it had at that time. */
interface AuditResource {
  type: string;
  id: string;
  name?: string;
}

/** One changed field, with its values before and after. A value that is absent did not exist. */
export interface FieldChange {
  /** Names of the field and of the objects around it, such as `config.url`. */
  path: string;
  before?: unknown;
  after?: unknown;
  /** Whether the field is a secret, whose values are not recorded. */
  isSecret?: true;
  /** Whether a value is recorded as the beginning of its JSON text, because it is long. */
  isCut?: true;
}

/** Conditions on entries of the audit log. An entry must meet all conditions that are present. */
export interface AuditFilter {
  /** Id of a token or member. */
  actor?: string;
  /** An action, such as `source.update`, or the type alone, such as `source`. */
  action?: string;
  /** Id of an item that the entry concerns, also as an end of a connection. */
  resource?: string;
  from?: number;
  to?: number;
}
