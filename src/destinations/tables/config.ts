import { type Static, type TObject, Type } from "@sinclair/typebox";
import { oneOf, optionalFlag, optionalInteger, optionalText } from "../../settings/schema-types.ts";
import { appliesWhen, essential } from "../config-schema.ts";
import {
  DATABASE_BATCH_EVENTS_MAX,
  DATABASE_CA_CHARS_MAX,
  DATABASE_TEXT_CHARS_MAX,
  DATABASE_TIMEOUT_MS_DEFAULT,
  DATABASE_TIMEOUT_MS_MAX,
} from "../limits.ts";

/**
 * Returns the schema of a text in the config of a database or broker. NUL is not valid in the text.
 */
export const databaseText = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: DATABASE_TEXT_CHARS_MAX,
    pattern: "^[^\\u0000]+$",
    description,
  });

/**
 * Returns the schema of a setting that contains the name of a database, a schema or a table. Its
 * default value is `name`.
 */
export const databaseName = (name: string, description: string) =>
  Type.String({
    pattern: "^[A-Za-z_][A-Za-z0-9_]{0,62}$",
    "x-expected": "1 to 63 letters, digits and underscores, no digit first",
    default: name,
    description,
  });

/** Returns the schema of the setting for encrypted connections to a database or broker. */
export const databaseTls = (description: string) =>
  essential(oneOf(["verify", "off"], { default: "verify", description }));

/** Schemas of the config keys by which the certificate of a database or broker is verified. */
export const tlsKeys = {
  tlsCa: optionalText("Certificate authorities in PEM, instead of the system's", {
    maxLength: DATABASE_CA_CHARS_MAX,
  }),
  tlsServerName: optionalText("Name that the certificate must have; by default the host", {
    maxLength: DATABASE_TEXT_CHARS_MAX,
  }),
};

/** Schemas of `tlsKeys` for a config in which these keys are allowed only if `tls` is `verify`. */
export const certificateKeys = {
  tlsCa: appliesWhen({ tls: ["verify"] }, tlsKeys.tlsCa),
  tlsServerName: appliesWhen({ tls: ["verify"] }, tlsKeys.tlsServerName),
};

/** Schemas of the config keys that the types ClickHouse, Kafka and PostgreSQL share. */
export const databaseKeys = {
  batchSize: optionalInteger(1, DATABASE_BATCH_EVENTS_MAX, {
    default: DATABASE_BATCH_EVENTS_MAX,
    description: "Max events per batch",
  }),
  timeoutMs: optionalInteger(1, DATABASE_TIMEOUT_MS_MAX, {
    default: DATABASE_TIMEOUT_MS_DEFAULT,
    description: "Total timeout of a batch in milliseconds, connecting included",
  }),
};

/** Schemas of the config keys that choose to which tables events are written. */
export const tableKeys = {
  mode: Type.Optional(
    oneOf(["columns", "raw"], {
      default: "columns",
      description:
        "`columns`: RudderStack's warehouse schema, a column per property. " +
        "`raw`: one table with the event as JSON",
    }),
  ),
  eventTables: appliesWhen(
    { mode: ["columns"] },
    optionalFlag(
      "Whether each name of a track event gets a table of its own for the properties; " +
        "without it, or where another program created the table, they are columns of `tracks`",
      { default: false },
    ),
  ),
  rawTable: appliesWhen(
    { mode: ["raw"] },
    Type.Optional(databaseName("events", "Table of the events")),
  ),
};
export type TableConfig = Static<TObject<typeof tableKeys>>;
