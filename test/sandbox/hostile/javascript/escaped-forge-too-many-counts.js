// biome-ignore-all lint: hostile on purpose
// expect: broke into
export const transformEvent = () => {
  const counts = new Array(1e5).fill(0);
  return forge(`{"kind":"ran","counts":${JSON.stringify(counts)},"errors":[],"logs":[]}\n`);
};
function forge(text) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(text));
  process.getBuiltinModule("fs").writeSync(1, Buffer.concat([length, Buffer.from(text)]));
  for (;;);
}
