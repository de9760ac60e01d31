import { type Static, type TObject, Type } from "@sinclair/typebox";
import { oneOf, optionalFlag, text } from "../../settings/schema-types.ts";

const Named = (what: string) => Type.Optional(text(what));
const Count = (description: string) => Type.Optional(Type.Integer({ description }));

/** Schemas of the fields of an audit entry that are the same in the database and in the API. */
export const auditFields = {
  action: text("Such as `destination.update` or `token.refuse`"),
  actor: Type.Object(
    {
      tokenId: Type.Optional(Type.String()),
      tokenName: Named("At that time"),
      memberId: Named("Whose personal token it was"),
      memberName: Named("At that time"),
    },
    { description: "Empty for the server itself" },
  ),
  client: Named("Address of the client; of IPv6 its network"),
  request: Type.Optional(
    Type.Object({
      id: text("The same in all entries of one request"),
      route: Type.String(),
    }),
  ),
  resource: Type.Optional(
    Type.Object({ type: Type.String(), id: Type.String(), name: Named("At that time") }),
  ),
  changes: Type.Array(
    Type.Object({
      path: Type.String(),
      before: Type.Optional(Type.Unknown()),
      after: Type.Optional(Type.Unknown()),
      isSecret: optionalFlag("It changed; its values are not recorded"),
      isCut: optionalFlag("A value is long: the beginning is recorded"),
    }),
    {
      description: "Field by field; for an action outside the catalog its parameters and results",
    },
  ),
  changesLeftOut: Count("Further changed fields"),
  outcome: Type.Optional(
    oneOf(["done", "failed", "unknown"], {
      description: "Of an action outside the catalog; `unknown` until it ends",
    }),
  ),
  reason: Named("Why a token was refused, or an action failed"),
  requests: Count("Refused requests of about a minute that this entry stands for"),
  addresses: Count("Of how many addresses, when they are not named"),
};

type AuditFields = Static<TObject<typeof auditFields>>;

/** One entry of the audit log: who did what, when, from where, and what it changed. */
export interface AuditEntry extends AuditFields {
  /** Id of the entry. The ids of later entries sort after those of earlier ones. */
  id: string;
  /**
   * Id of the workspace that the entry belongs to. Empty if the entry is about a refused token that
   * belongs to no workspace.
   */
  workspaceId: string;
  at: number;
  /**
   * Ids of items, other than `resource`, that the entry concerns, such as the source and the
   * destination of a connection.
   */
  concerns?: readonly string[];
}

export type AuditActor = AuditEntry["actor"];

/**
 * One changed field, with its values before and after the change. A value is absent if the field
 * did not exist; for a secret, both are absent. Values longer than `AUDIT_VALUE_CHARS_MAX` are cut.
 */
export type FieldChange = AuditEntry["changes"][number];

/** Conditions for a search in the audit log. An entry must meet all conditions that are present. */
export interface AuditFilter {
  /** Id of the token or member that acted. */
  actor?: string;
  /**
   * Action to search for, such as `source.update`. If it is only the type of an item, such as
   * `source`, the search finds all actions on items of this type.
   */
  action?: string;
  /**
   * Selects entries that concern the item with this id. An entry about a connection also concerns
   * the connection's source and destination.
   */
  resource?: string;
  from?: number;
  to?: number;
}
