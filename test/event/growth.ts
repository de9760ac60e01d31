const WARM_ROUNDS_MAX = 40;
const WARM_OPERATIONS = 50_000;
const WARM_BYTES_MAX = 4 << 10;
/** Memory of the operation shows in every round, memory of a late compiler in one. */
const MEASURES = 3;

/**
 * How many bytes this process grows by, per operation. Meant for one that was started with
 * `BUN_JSC_useGC=0`, so that whatever is allocated stays.
 */
export async function growthOf(operation: () => unknown, count: number): Promise<number> {
  const run = (operations: number) => {
    const before = process.memoryUsage.rss();
    for (let i = 0; i < operations; i++) operation();
    return process.memoryUsage.rss() - before;
  };
  // Until the compilers are done, for they allocate too: a round that grows by little ends it.
  for (
    let round = 0, grown = Infinity;
    round < WARM_ROUNDS_MAX && grown > WARM_BYTES_MAX;
    round++
  ) {
    grown = run(Math.min(count, WARM_OPERATIONS));
    await Bun.sleep(20);
  }
  const grown = Array.from({ length: MEASURES }, () => run(count) / count);
  return Math.min(...grown);
}
