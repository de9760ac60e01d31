import type { Egress } from "../egress/egress.ts";
import { clickhouseKind } from "./clickhouse/clickhouse.ts";
import type { DestinationKind } from "./destination.ts";
import { fileKind } from "./file/file.ts";
import { kafkaKind } from "./kafka/kafka.ts";
import { kafkaRudderstackKeys } from "./kafka/rudderstack-keys.ts";
import { postgresKind } from "./postgres/postgres.ts";
import { postgresRudderstackKeys } from "./postgres/rudderstack-keys.ts";
import { withRudderstackKeys } from "./rudderstack-form.ts";
import { s3RudderstackKeys } from "./s3/rudderstack-keys.ts";
import { s3Kind } from "./s3/s3.ts";
import { ScramDerivations } from "./scram-keys.ts";
import { webhookKind } from "./webhook/webhook.ts";

interface DestinationKindsOptions {
  /** Directory that contains the files of file destinations. */
  directory: string;
  egress: Egress;
}

/**
 * Creates every kind of destination. A key of the result is the name of the kind in the API
 * `/v2/destinations`.
 */
export function destinationKinds({ directory, egress }: DestinationKindsOptions) {
  const derivations = new ScramDerivations();
  const kinds: DestinationKind[] = [
    webhookKind(egress),
    fileKind(directory),
    withRudderstackKeys(postgresKind(egress, derivations), postgresRudderstackKeys),
    clickhouseKind(egress),
    withRudderstackKeys(s3Kind(egress), s3RudderstackKeys),
    withRudderstackKeys(kafkaKind(egress, derivations), kafkaRudderstackKeys),
  ];
  return new Map(kinds.map((kind) => [kind.kind, kind]));
}
