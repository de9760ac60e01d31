import { type Static, Type } from "@sinclair/typebox";
import { essential, rudderstackKeys } from "../config-schema.ts";
import {
  certificateKeys,
  databaseKeys,
  databaseName,
  databaseTls,
  tableKeys,
  databaseText as text,
} from "../tables/config.ts";

export const PostgresConfig = Type.Object({
  ...rudderstackKeys,
  host: text("Name or address of the server, without a port"),
  port: essential(
    Type.Integer({ minimum: 1, maximum: 65_535, default: 5432, description: "TCP port" }),
  ),
  database: text("Name of the database"),
  user: text("Name of the user"),
  password: text("Password of the user"),
  schema: essential(databaseName("public", "Schema of the tables, created when it is missing")),
  tls: databaseTls("Whether the connection uses TLS, whose certificate is always verified"),
  ...certificateKeys,
  ...databaseKeys,
  ...tableKeys,
});
export type PostgresConfig = Static<typeof PostgresConfig>;
