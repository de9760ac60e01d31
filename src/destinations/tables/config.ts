import { Type } from "@sinclair/typebox";

/** Keys of a config that say which tables events go into. */
export const tableKeys = {
  mode: Type.Optional(
    Type.Union([Type.Literal("columns"), Type.Literal("raw")], {
      default: "columns",
      description:
        "`columns`: RudderStack's warehouse schema, a column per property. " +
        "`raw`: one table with the event as JSON",
    }),
  ),
  eventTables: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        "Whether each name of a track event gets a table of its own for the properties; " +
        "without it they are columns of `tracks`",
    }),
  ),
  rawTable: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z_][A-Za-z0-9_]{0,62}$",
      default: "events",
      description: "Table of mode `raw`",
    }),
  ),
};
