// biome-ignore-all lint: hostile on purpose
// expect: "sites":0
export function transformEvent() {
  let sites = 0;
  const grab = (_, frames) => {
    sites += frames.length;
    return frames;
  };
  const attempts = [
    () => {
      Error.prepareStackTrace = grab;
    },
    () => Object.defineProperty(Error, "prepareStackTrace", { value: grab }),
    () => {
      TypeError.prepareStackTrace = grab;
    },
    () => {
      Function.prototype.prepareStackTrace = grab;
    },
    () => {
      globalThis.Error = class extends Error {
        static prepareStackTrace = grab;
      };
    },
  ];
  for (const attempt of attempts) {
    try {
      attempt();
    } catch {}
    try {
      void new Error("x").stack;
      null.x;
    } catch (error) {
      if (typeof error.stack !== "string") sites += 1;
      const target = {};
      Error.captureStackTrace?.(target);
      if (typeof target.stack !== "string") sites += 1;
    }
  }
  return { sites };
}
