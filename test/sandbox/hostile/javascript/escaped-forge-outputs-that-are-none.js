// biome-ignore-all lint: hostile on purpose
// expect: broke into
export const transformEvent = () =>
  forge('{"kind":"ran","counts":[2],"errors":[],"logs":[]}\n{"a":1}\nnot an object');
function forge(text) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(text));
  process.getBuiltinModule("fs").writeSync(1, Buffer.concat([length, Buffer.from(text)]));
  for (;;);
}
