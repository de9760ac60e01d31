// biome-ignore-all lint: hostile on purpose
// expect: crashed
export const transformEvent = () => {
  const { read } = process.getBuiltinModule("bun:ffi");
  return { value: read.u64(8, 0) };
};
