import type { Counter } from "prom-client";
import { METRICS_DESTINATIONS_MAX } from "../../settings/limits.ts";

/** Labels that say whose a metric is: ids and names of workspaces, destinations and code. */
const TENANT_LABELS = ["workspace", "destination", "name", "transformation", "version"] as const;

type Labels = Record<string, string>;

/** A counter that may be added to with tenant labels, whether they are shown or not. */
export interface TenantCounter {
  inc(labels: Labels, count?: number): void;
  remove(labels: Labels): void;
}

/**
 * Decides which metrics have labels of tenants. Without them, the metrics of all tenants are added
 * up, so that `/metrics` tells no names, and its size does not grow with the destinations. With
 * them, `METRICS_DESTINATIONS_MAX` destinations have labels, and the others are added up.
 */
export class TenantLabels {
  readonly areShown: boolean;
  readonly #destinations = new Set<string>();

  constructor(areShown: boolean) {
    this.areShown = areShown;
  }

  /** Returns the labels of a metric as they are shown. */
  shown(labels: Labels): Labels {
    if (this.areShown && this.#isShown(labels.destination)) return labels;
    const shown = { ...labels };
    for (const name of TENANT_LABELS) delete shown[name];
    return shown;
  }

  /** Makes room for another destination. */
  forget(destination: string): void {
    this.#destinations.delete(destination);
  }

  counter(counter: Counter): TenantCounter {
    return {
      inc: (labels, count = 1) => counter.inc(this.shown(labels), count),
      // A sum over several tenants stays, because a counter never falls.
      remove: (labels) => {
        const shown = this.shown(labels);
        if (shown === labels) counter.remove(shown);
      },
    };
  }

  #isShown(destination: string | undefined): boolean {
    if (destination === undefined || this.#destinations.has(destination)) return true;
    if (this.#destinations.size >= METRICS_DESTINATIONS_MAX) return false;
    this.#destinations.add(destination);
    return true;
  }
}
