import type { Client } from "../../api/client.ts";
import { StartError } from "../../errors.ts";
import { nearestName } from "../../settings/nearest-name.ts";

/** Number of sources or destinations on one requested page. */
const PAGE_ROWS = 100;
/** Maximum number of requested pages. Sources or destinations on later pages are shown by id. */
const PAGES_MAX = 100;

export interface NamedItem {
  id: string;
  name: string;
}

/** Returns ids and names of the workspace's sources or destinations. */
export async function namesOf(
  client: Client,
  kind: "source" | "destination",
): Promise<NamedItem[]> {
  const all: NamedItem[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const query = { kind, page, count: PAGE_ROWS };
    const { names, total } = await client.call("GET /v2/status/names", { query });
    all.push(...names);
    if (all.length >= total || names.length === 0) break;
  }
  return all;
}

/**
 * Returns the id of the item whose id or name is `text`. If no name is equal, ignores upper and
 * lower case. Throws `StartError` if none or several items fit.
 */
export function idOf(kind: string, items: readonly NamedItem[], text: string): string {
  const exact = items.find(({ id }) => id === text);
  if (exact !== undefined) return exact.id;
  const same = items.filter(({ name }) => name === text);
  const alike = items.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const found = same.length > 0 ? same : alike;
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(", ");
    throw new StartError(`Several items have this name; expected the id of a ${kind}: ${ids}`);
  }
  if (found[0] !== undefined) return found[0].id;
  const names = items.map(({ name }) => name);
  const nearest = nearestName(text, names) ?? names.find((name) => contains(name, text));
  const hint = nearest === undefined ? "" : `; the nearest is ${nearest}`;
  throw new StartError(`Unknown ${kind} ${text}${hint}`);
}

const contains = (name: string, part: string) => name.toLowerCase().includes(part.toLowerCase());
