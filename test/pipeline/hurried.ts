import { type Clock, systemClock } from "../../src/pipeline/clock.ts";

/** A clock that runs `factor` times as fast as the real one, with chances from a seed. */
export function hurried(factor: number, seed = 1): Clock {
  const started = performance.now();
  const origin = Date.now();
  let state = seed;
  const now = () => Math.floor(origin + (performance.now() - started) * factor);
  return {
    now,
    elapsed: now,
    age: (at) => Math.max(0, now() - at),
    random() {
      // Lehmer's generator: 31 bits are plenty for jitter.
      state = (state * 48_271) % 0x7fffffff;
      return state / 0x7fffffff;
    },
    sleep: (ms, until) => systemClock.sleep(ms / factor, until),
  };
}
