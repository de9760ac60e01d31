// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out|Maximum call stack|"done"
export function transformEvent() {
  const deep = () => {
    try {
      deep();
    } catch {
      deep();
    }
  };
  deep();
  return { done: true };
}
