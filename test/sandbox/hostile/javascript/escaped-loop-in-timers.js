// biome-ignore-all lint: hostile on purpose
// expect: timed out
export const transformEvent = () =>
  new Promise(() => {
    const spin = () => {
      const end = performance.now() + 50;
      while (performance.now() < end);
      setTimeout(spin);
    };
    spin();
  });
