// biome-ignore-all lint: hostile on purpose
// expect: broke into
export const transformEvent = async () => {
  const forged = frame('{"kind":"ran","counts":[1],"errors":[],"logs":[]}\n{"forged":true}');
  process.getBuiltinModule("fs").writeSync(1, Buffer.concat([forged, forged]));
  return { real: true };
};
function frame(text) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
}
