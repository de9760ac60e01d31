// biome-ignore-all lint: hostile on purpose
// expect: "names":\[\],"own":"mine"
export function transformEvent() {
  const names = [];
  for (const name of ["otherSecret", "__proto__", "constructor", "toString", ""]) {
    if (getCredential(name) !== undefined) names.push(name);
  }
  return { names, own: getCredential("own") };
}
