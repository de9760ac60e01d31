// biome-ignore-all lint: hostile on purpose
// expect: crashed|broke into|timed out
export const transformEvent = () => {
  for (const descriptor of [0, 1, 2]) kernel.syscall(3, descriptor);
  return { closed: true };
};
