// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
throw {
  get stack() {
    for (;;);
  },
};
