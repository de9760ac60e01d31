import { useEffect, useRef, useState } from "preact/hooks";
import { client } from "../data/session.ts";
import { EventBuffer } from "./event-buffer.ts";

export interface TailState {
  buffer: EventBuffer;
  /** Changes with every picture: what is shown is made anew. */
  tick: number;
  state: "connecting" | "open" | "ended";
  /** Why the tail ended. */
  error: unknown;
  perSecond: number;
  /** Messages that did not come, since this reader or the network was too slow. */
  missed: number;
  reconnect(): void;
}

/** The page is drawn at most so often, however fast events come. */
const DRAWN_EVERY_MS = 250;
/** Longer work at a stretch would make typing wait. */
const SLICE_MS = 8;
const RETRY_MS = 3_000;

interface TailCounters {
  flow: EventBuffer;
  messages: number;
  missed: number;
  drawnAt: number;
}

/** Follows events while the screen is open; after a break it begins again by itself. */
export function useTail(
  filter: { sourceId?: string; destinationId?: string },
  isPaused: boolean,
): TailState {
  const counts = useRef<TailCounters>(null);
  counts.current ??= {
    flow: new EventBuffer(),
    messages: 0,
    missed: 0,
    drawnAt: performance.now(),
  };
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const [attempt, setAttempt] = useState(0);
  const [shown, setShown] = useState({ tick: 0, perSecond: 0, missed: 0 });
  const [state, setState] = useState<TailState["state"]>("connecting");
  const [error, setError] = useState<unknown>();
  const key = JSON.stringify(filter);

  useEffect(() => {
    const stop = new AbortController();
    const mine = counts.current!;
    mine.flow.clear();
    setState("connecting");
    let retry: ReturnType<typeof setTimeout> | undefined;
    readTail(filter, stop.signal, mine, paused, () => {
      setState("open");
      setError(undefined);
    })
      .then(
        () => undefined,
        (fault: unknown) => fault,
      )
      .then((fault) => {
        if (stop.signal.aborted) return;
        setState("ended");
        setError(fault);
        retry = setTimeout(() => setAttempt((before) => before + 1), RETRY_MS);
      });
    return () => {
      stop.abort();
      clearTimeout(retry);
    };
  }, [key, attempt]);

  useEffect(() => {
    const timer = setInterval(() => {
      const now = performance.now();
      const { messages, missed, drawnAt } = counts.current!;
      Object.assign(counts.current!, { messages: 0, drawnAt: now });
      const perSecond = (messages * 1_000) / (now - drawnAt);
      setShown((before) => {
        const isQuiet = messages === 0 && missed === before.missed && before.perSecond < 0.05;
        if (isQuiet || document.hidden) return before;
        // Smoothed, so that it can be read.
        const smooth = before.perSecond * 0.7 + perSecond * 0.3;
        return { tick: before.tick + 1, perSecond: smooth, missed };
      });
    }, DRAWN_EVERY_MS);
    return () => clearInterval(timer);
  }, []);

  const reconnect = () => setAttempt(attempt + 1);
  return { ...shown, buffer: counts.current.flow, state, error, reconnect };
}

async function readTail(
  filter: { sourceId?: string; destinationId?: string },
  signal: AbortSignal,
  counts: TailCounters,
  paused: { current: boolean },
  onOpen: () => void,
): Promise<void> {
  let until = performance.now() + SLICE_MS;
  for await (const message of client.follow(filter, signal, onOpen)) {
    if (message.name === "missed") counts.missed += Number(message.data.count);
    else {
      counts.messages += 1;
      if (!paused.current) counts.flow.add(message);
    }
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve));
    until = performance.now() + SLICE_MS;
  }
}
