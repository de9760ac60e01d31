/** The address of a listener as a URL; an IPv6 address is put into brackets. */
export function httpUrl(host: string, port: number | undefined): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The URL with which a client on this machine reaches a listener of every address. */
export function reachableUrl(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//localhost");
}
