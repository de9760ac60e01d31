import { type Static, Type } from "@sinclair/typebox";
import {
  DATABASE_CA_CHARS_MAX,
  DATABASE_TEXT_CHARS_MAX,
  DATABASE_TIMEOUT_MS_DEFAULT,
  DATABASE_TIMEOUT_MS_MAX,
  TABLE_BATCH_EVENTS_MAX,
} from "../../limits.ts";
import { rudderstackKeys } from "../rudderstack-keys.ts";
import { tableKeys } from "../tables/config.ts";

const text = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: DATABASE_TEXT_CHARS_MAX,
    pattern: "^[^\\u0000]+$",
    description,
  });

export const PostgresConfig = Type.Object({
  ...rudderstackKeys,
  host: text("Name or address of the server, without a port"),
  port: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 65_535, default: 5432, description: "TCP port" }),
  ),
  database: text("Name of the database"),
  user: text("Name of the user"),
  password: text("Password of the user"),
  schema: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z_][A-Za-z0-9_]{0,62}$",
      default: "public",
      description: "Schema of the tables, which is made when it is missing",
    }),
  ),
  tls: Type.Optional(
    Type.Union([Type.Literal("verify"), Type.Literal("off")], {
      default: "verify",
      description: "Whether the connection is inside TLS, whose certificate is always checked",
    }),
  ),
  tlsCa: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: DATABASE_CA_CHARS_MAX,
      description: "Certificate authorities in PEM, instead of the known ones",
    }),
  ),
  tlsServerName: Type.Optional(text("Name that the certificate must be for; by default the host")),
  ...tableKeys,
  batchSize: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: TABLE_BATCH_EVENTS_MAX, default: TABLE_BATCH_EVENTS_MAX },
      description: "Most events of one transaction",
    }),
  ),
  timeoutMs: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: DATABASE_TIMEOUT_MS_MAX, default: DATABASE_TIMEOUT_MS_DEFAULT },
      description: "Milliseconds for one transaction, connecting included",
    }),
  ),
});
export type PostgresConfig = Static<typeof PostgresConfig>;
