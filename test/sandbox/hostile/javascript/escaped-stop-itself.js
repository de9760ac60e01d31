// biome-ignore-all lint: hostile on purpose
// expect: timed out
const SIGSTOP = 19;
export const transformEvent = () => {
  kernel.syscall(234, process.pid, process.pid, SIGSTOP);
  for (;;);
};
