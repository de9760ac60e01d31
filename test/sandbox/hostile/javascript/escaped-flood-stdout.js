// biome-ignore-all lint: hostile on purpose
// expect: broke into|crashed
export const transformEvent = () => {
  const noise = Buffer.alloc(1 << 20, 120);
  for (;;) process.getBuiltinModule("fs").writeSync(1, noise);
};
