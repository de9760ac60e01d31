export interface StopSignal {
  /** Resolves with the signal at the first SIGTERM or SIGINT, which starts an orderly stop. */
  first: Promise<string>;
  /** Resolves at the second SIGTERM or SIGINT, which ends the process at once. */
  second: Promise<"second signal">;
}

/** Listens for SIGTERM and SIGINT. */
export function stopSignal(): StopSignal {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<"second signal">();
  let seen = false;
  const receive = (signal: string) => {
    if (seen) second.resolve("second signal");
    seen = true;
    first.resolve(signal);
  };
  process.on("SIGTERM", receive);
  process.on("SIGINT", receive);
  return { first: first.promise, second: second.promise };
}
