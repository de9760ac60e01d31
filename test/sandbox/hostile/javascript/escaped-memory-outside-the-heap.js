// biome-ignore-all lint: hostile on purpose
// expect: memory|crashed|timed out|"mapped":\d
export const transformEvent = () => {
  let mapped = 0;
  // mmap of private memory that is touched page by page.
  for (;;) {
    const { value } = kernel.syscall(9, 0, 64 << 20, 3, 0x8022, -1, 0);
    if (value === -1) return { mapped };
    mapped += 1;
  }
};
