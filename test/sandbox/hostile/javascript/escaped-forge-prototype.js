// biome-ignore-all lint: hostile on purpose
// expect: broke into
export const transformEvent = () =>
  forge('{"__proto__":{"kind":"ran"},"constructor":1,"counts":{"length":1},"errors":[]}\n');
function forge(text) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(text));
  process.getBuiltinModule("fs").writeSync(1, Buffer.concat([length, Buffer.from(text)]));
  for (;;);
}
