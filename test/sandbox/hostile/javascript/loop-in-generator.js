// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export function transformEvent() {
  function* endless() {
    try {
      for (;;) yield 1;
    } finally {
      for (;;);
    }
  }
  for (const one of endless()) if (one > 1) break;
}
