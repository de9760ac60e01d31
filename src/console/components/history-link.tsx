import { missingPermission } from "../data/session.ts";
import { currentRoute, hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";

/** Screens whose pages show one item, with the item's id as second segment of the route. */
const itemScreens = ["sources", "destinations", "transformations", "libraries"];

/** Link from the page of an item to the audit log of this item. */
export function HistoryLink() {
  const [screen = "", id] = currentRoute.value.segments;
  if (id === undefined || id === "new" || !itemScreens.includes(screen)) return null;
  if (missingPermission("audit:read") !== undefined) return null;
  return (
    <a class="small" href={hrefTo("audit", { resource: id })}>
      {commonTexts.auditLog}
    </a>
  );
}
