// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out|Expected at most \d+ outputs of one event
export function transformEvent() {
  return new Proxy([], { get: (target, key) => (key === "length" ? 2 ** 53 : { key: 1 }) });
}
