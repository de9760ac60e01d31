// biome-ignore-all lint: hostile on purpose
// expect: timed out|broke into
export const transformEvent = () => {
  const noise = Buffer.alloc(1 << 16, "\u001b[31m noise\n");
  for (;;) process.getBuiltinModule("fs").writeSync(2, noise);
};
