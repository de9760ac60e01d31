// biome-ignore-all lint: hostile on purpose
// expect: crashed
export const transformEvent = () => {
  const { ptr } = process.getBuiltinModule("bun:ffi");
  const page = Math.floor(ptr(new Uint8Array(1 << 20)) / 4_096) * 4_096;
  for (let i = -4_096; i < 4_096; i += 1) kernel.syscall(11, page + i * 4_096, 4_096);
  return { mapped: String(new Array(1e6).fill(1)) };
};
