import { join } from "node:path";
import type { DestinationKind } from "./destination.ts";
import type { Egress } from "./egress.ts";
import { fileKind } from "./file.ts";
import { webhookKind } from "./webhook.ts";

export interface KindParts {
  /** `DATA`: file destinations write below `DATA/files`. */
  dataDirectory: string;
  egress: Egress;
}

/** Every kind of destination by its name, as `/v2/destinations` calls it. */
export function destinationKinds({ dataDirectory, egress }: KindParts) {
  const kinds: DestinationKind[] = [webhookKind(egress), fileKind(join(dataDirectory, "files"))];
  return new Map(kinds.map((kind) => [kind.kind, kind]));
}
