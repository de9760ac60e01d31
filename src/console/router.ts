import { signal } from "@preact/signals";

export interface ScreenProps {
  /** Path segments after the first, which is the screen's name: `["ID"]` for `#/sources/ID`. */
  subpath: readonly string[];
  query: URLSearchParams;
}

/**
 * The screen to show and its query. Both are in the fragment of the page's URL, such as
 * `#/sources/ID?tab=snippet`. They are not in the path of the URL, because routes of the API have
 * the same paths.
 */
export const currentRoute = signal(readRoute());

addEventListener("hashchange", () => {
  currentRoute.value = readRoute();
});

/**
 * Parses the fragment of the page's URL. `segments` are the decoded parts of the fragment's path,
 * such as `["sources", "ID"]`.
 */
function readRoute() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const segments: readonly string[] = path.split("/").filter(Boolean).map(decodeSegment);
  return { segments, query: new URLSearchParams(query) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

type Query = Record<string, string | number | undefined>;

/**
 * Returns the link to a screen, such as `hrefTo("sources", id, { tab: "snippet" })`. It leaves out
 * query parameters that are undefined or empty.
 */
export function hrefTo(...parts: (string | Query)[]): string {
  const segments = parts.filter((part) => typeof part === "string").map(encodeURIComponent);
  const query = new URLSearchParams();
  for (const part of parts) {
    if (typeof part === "string") continue;
    for (const [key, value] of Object.entries(part)) {
      if (value !== undefined && value !== "") query.set(key, String(value));
    }
  }
  return `#/${segments.join("/")}${query.size > 0 ? `?${query}` : ""}`;
}

export function navigate(href: string): void {
  location.hash = href;
}

/** Changes query parameters in the page's address. The browser's history gets no new entry. */
export function replaceQuery(change: Query): void {
  const { segments, query } = currentRoute.value;
  const next = { ...Object.fromEntries(query), ...change };
  history.replaceState(null, "", hrefTo(...segments, next));
  currentRoute.value = readRoute();
}
