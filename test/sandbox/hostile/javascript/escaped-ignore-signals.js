// biome-ignore-all lint: hostile on purpose
// expect: timed out
export const transformEvent = () => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
  for (;;);
};
