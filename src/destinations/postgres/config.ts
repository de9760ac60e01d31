import { type Static, Type } from "@sinclair/typebox";
import { checkedHost } from "../../egress/egress.ts";
import type { Detail } from "../../errors.ts";
import { configFaults, egressFaults } from "../config-faults.ts";
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

/** Validates a config. Returns its faults, each with a JSON pointer to the faulty value. */
export function postgresFaults(config: Record<string, unknown>): Detail[] {
  const faults = configFaults(PostgresConfig, config);
  if (faults.some(({ path }) => path === "/host")) return faults;
  return [...egressFaults("/host", () => checkedHost(String(config.host))), ...faults];
}
