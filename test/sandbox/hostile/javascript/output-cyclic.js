// biome-ignore-all lint: hostile on purpose
// expect: circular structure
export function transformEvent(event) {
  event.self = event;
  return event;
}
