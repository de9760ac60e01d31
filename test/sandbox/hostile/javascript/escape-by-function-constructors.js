// biome-ignore-all lint: hostile on purpose
// expect: "reached":\[\],"tried":5
export function transformEvent() {
  const kinds = [
    Function,
    (() => {}).constructor,
    (async () => {}).constructor,
    function* () {}.constructor,
    async function* () {}.constructor,
  ];
  const reached = [];
  for (const kind of kinds) {
    try {
      reached.push(typeof kind("return process")());
    } catch {}
  }
  return { reached, tried: kinds.length };
}
