// biome-ignore-all lint: hostile on purpose
// expect: "allowed":\[\],"tried":3
const X32 = 0x40000000;
export const transformEvent = ({ canary: { file } }) => {
  const path = Buffer.from(`${file}\0`);
  const calls = {
    open: [X32 + 2, path, 0],
    openat: [X32 + 257, -100, path, 0],
    execve: [X32 + 520, path, 0, 0],
  };
  const allowed = Object.keys(calls).filter((name) => kernel.syscall(...calls[name]).value !== -1);
  return { allowed, tried: Object.keys(calls).length };
};
