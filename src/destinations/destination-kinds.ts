import type { Egress } from "../egress/egress.ts";
import { clickhouseKind } from "./clickhouse/clickhouse.ts";
import type { DestinationKind } from "./destination.ts";
import { fileKind } from "./file/file.ts";
import { kafkaKind } from "./kafka/kafka.ts";
import { postgresKind } from "./postgres/postgres.ts";
import { s3Kind } from "./s3/s3.ts";
import { webhookKind } from "./webhook/webhook.ts";

export interface DestinationKindsOptions {
  /** The directory below which file destinations write. */
  directory: string;
  egress: Egress;
}

/** Every kind of destination by the name that `/v2/destinations` uses. */
export function destinationKinds({ directory, egress }: DestinationKindsOptions) {
  const kinds: DestinationKind[] = [
    webhookKind(egress),
    fileKind(directory),
    postgresKind(egress),
    clickhouseKind(egress),
    s3Kind(egress),
    kafkaKind(egress),
  ];
  return new Map(kinds.map((kind) => [kind.kind, kind]));
}
