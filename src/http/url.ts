/** The address of a listener as a URL; an IPv6 address is put into brackets. */
export function httpUrl(host: string, port: number | undefined): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** "Every address" is for listening; a client on this machine needs one to go to. */
export function reachableUrl(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//localhost");
}
