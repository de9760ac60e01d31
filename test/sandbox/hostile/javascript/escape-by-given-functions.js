// biome-ignore-all lint: hostile on purpose
// expect: "reached":\[\],"tried":8
export function transformEvent(event, metadata) {
  const given = [
    metadata,
    log,
    getCredential,
    fetch,
    fetchV2,
    geolocation,
    console.log,
    metadata(event).constructor,
  ];
  const reached = [];
  for (const one of given) {
    try {
      reached.push(typeof one.constructor("return process")());
    } catch {}
  }
  return { reached, tried: given.length };
}
