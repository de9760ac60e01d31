import { type Static, Type } from "@sinclair/typebox";
import { checkedUrl } from "../../egress/egress.ts";
import type { Detail } from "../../errors.ts";
import { configFaults, egressFaults } from "../config-faults.ts";
import { essential, rudderstackKeys } from "../config-schema.ts";
import { DATABASE_TEXT_CHARS_MAX } from "../limits.ts";
import { databaseKeys, databaseName, tableKeys, tlsKeys } from "../tables/config.ts";

export const ClickhouseConfig = Type.Object({
  ...rudderstackKeys,
  url: Type.String({
    minLength: 1,
    maxLength: DATABASE_TEXT_CHARS_MAX,
    description: "URL of the HTTP interface, such as `https://clickhouse.example.com:8443`",
  }),
  database: essential(
    databaseName("default", "Database of the tables, created when it is missing"),
  ),
  user: essential(
    Type.String({
      pattern: "^[\\x21-\\x7e]{1,255}$",
      "x-expected": "1 to 255 characters of ASCII without spaces",
      default: "default",
      description: "Name of the user",
    }),
  ),
  password: essential(
    Type.String({
      pattern: "^[\\x20-\\x7e]{0,255}$",
      "x-expected": "at most 255 characters of ASCII",
      description: "Password of the user",
    }),
  ),
  ...tlsKeys,
  ...databaseKeys,
  ...tableKeys,
});
export type ClickhouseConfig = Static<typeof ClickhouseConfig>;

export function clickhouseFaults(config: Record<string, unknown>): Detail[] {
  const faults = configFaults(ClickhouseConfig, config);
  if (faults.some(({ path }) => path === "/url")) return faults;
  return [...egressFaults("/url", () => checkedUrl(String(config.url))), ...faults];
}
