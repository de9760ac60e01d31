import type { Counter } from "prom-client";
import { METRICS_DESTINATIONS_MAX } from "../../settings/limits.ts";

/** Labels that say to whom a metric belongs: ids and names of workspaces, destinations and code. */
const TENANT_LABELS = ["workspace", "destination", "name", "transformation", "version"] as const;

type Labels = Record<string, string>;

/**
 * Decides whether metrics have labels that identify their tenant (workspace, destination, user
 * code). If `areShown` is false, no metric has them. Otherwise, the first
 * `METRICS_DESTINATIONS_MAX` destinations get labels, and the metrics of further ones are summed.
 */
export class TenantLabels {
  readonly #destinations = new Set<string>();

  constructor(readonly areShown: boolean) {}

  /**
   * Returns the labels of a metric as `/metrics` shows them. Leaves out the labels that identify
   * the tenant if `areShown` is false, or if `METRICS_DESTINATIONS_MAX` other destinations have
   * them.
   */
  shown(labels: Labels): Labels {
    if (this.areShown && this.#isShown(labels.destination)) return labels;
    const shown = { ...labels };
    for (const name of TENANT_LABELS) delete shown[name];
    return shown;
  }

  /**
   * Removes a destination from the set of destinations whose metrics have tenant labels. Another
   * destination can then take its place.
   */
  forget(destination: string): void {
    this.#destinations.delete(destination);
  }

  /**
   * Wraps a counter, so that callers can always pass tenant labels. The wrapper removes these
   * labels if `/metrics` must not show them.
   */
  counter(counter: Counter) {
    return {
      inc: (labels: Labels, count = 1) => counter.inc(this.shown(labels), count),
      // A sum over several tenants is kept, because a counter never decreases.
      remove: (labels: Labels) => {
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
