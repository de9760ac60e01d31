/** Returns the URL of a listener. An IPv6 address is put into brackets. */
export function httpUrl(
  host: string,
  port: number | undefined,
  scheme: "http" | "https" = "http",
): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Returns the URL with which a client on this machine reaches a listener. A wildcard address
 * (`0.0.0.0`, `[::]`) becomes `localhost`.
 */
export function reachableUrl(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//localhost");
}
