import type { Api } from "../../api/api.ts";
import { limitedItems } from "../../catalog/management/item-limits.ts";
import { type Backend, itemsMaxOf, type StartContext } from "../backend.ts";

/**
 * Makes each reload of the settings apply the new log level, workspace limits and rate limit of the
 * API.
 */
export function addOwnSettings(
  { settings, logger }: StartContext,
  { catalog }: Pick<Backend, "catalog">,
  api: Api,
): void {
  settings.add({
    keys: [
      "log.level",
      "admin.rate",
      ...limitedItems.map((items) => `workspace.${items}` as const),
    ],
    prepare: (next) => () => {
      logger.level = next["log.level"];
      catalog.setItemsMax(itemsMaxOf(next));
      api.setRequestsPerSecondMax(next["admin.rate"]);
    },
  });
}
