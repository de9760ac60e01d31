import { afterAll, beforeAll } from "bun:test";
import { ClickhouseServer, clickhouseMissing } from "./clickhouse/clickhouse-server.ts";
import { PostgresServer, postgresMissing } from "./postgres/postgres-server.ts";

/** Database servers of one test file. One that is not installed is undefined. */
export interface Databases {
  postgres?: PostgresServer;
  clickhouse?: ClickhouseServer;
}

/**
 * Starts PostgreSQL and ClickHouse before the tests of the file that calls it, and ends them after
 * them. The properties of the returned object are set when the tests run.
 */
export function withDatabases(): Databases {
  const databases: Databases = {};
  beforeAll(async () => {
    if (postgresMissing === undefined) databases.postgres = await PostgresServer.start();
    if (clickhouseMissing === undefined) databases.clickhouse = await ClickhouseServer.start();
  });
  afterAll(async () => {
    await databases.postgres?.end();
    await databases.clickhouse?.end();
  });
  return databases;
}
