import { onTestFinished, setSystemTime, spyOn } from "bun:test";

/** Lets `ms` milliseconds pass at once, by both clocks, until the test ends or calls the result. */
export function passTime(ms: number): () => void {
  const elapsed = performance.now() + ms;
  const clock = spyOn(performance, "now").mockImplementation(() => elapsed);
  setSystemTime(Date.now() + ms);
  const restore = () => {
    clock.mockRestore();
    setSystemTime();
  };
  onTestFinished(restore);
  return restore;
}
