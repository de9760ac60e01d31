// biome-ignore-all lint: hostile on purpose
// expect: broke into
export const transformEvent = () => {
  process.getBuiltinModule("fs").writeSync(1, Buffer.from([255, 255, 255, 255]));
  for (;;);
};
