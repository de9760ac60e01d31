import { useEffect, useRef, useState } from "preact/hooks";
import { client } from "../session.ts";
import { Flow } from "./flow.ts";

export interface Following {
  flow: Flow;
  /** Changes with every picture: what is shown is made anew. */
  tick: number;
  state: "connecting" | "open" | "ended";
  /** Why the tail ended. */
  error: unknown;
  perSecond: number;
  /** Messages that did not come, since this reader or the network was too slow. */
  missed: number;
  again(): void;
}

/** The page is drawn at most so often, however fast events come. */
const DRAWN_EVERY_MS = 250;
/** Longer work at a stretch would make typing wait. */
const TURN_MS = 8;
const RETRY_MS = 3_000;

interface Counts {
  flow: Flow;
  messages: number;
  missed: number;
  drawnAt: number;
}

/** Follows events while the screen is open; after a break it begins again by itself. */
export function useFollowing(
  filter: { sourceId?: string; destinationId?: string },
  isPaused: boolean,
): Following {
  const counts = useRef<Counts>(null);
  counts.current ??= { flow: new Flow(), messages: 0, missed: 0, drawnAt: performance.now() };
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const [attempt, setAttempt] = useState(0);
  const [shown, setShown] = useState({ tick: 0, perSecond: 0, missed: 0 });
  const [state, setState] = useState<Following["state"]>("connecting");
  const [error, setError] = useState<unknown>();
  const key = JSON.stringify(filter);

  useEffect(() => {
    const stop = new AbortController();
    const mine = counts.current!;
    mine.flow.clear();
    setState("connecting");
    let retry: ReturnType<typeof setTimeout> | undefined;
    follow(filter, stop.signal, mine, paused, () => {
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

  const again = () => setAttempt(attempt + 1);
  return { ...shown, flow: counts.current.flow, state, error, again };
}

async function follow(
  filter: { sourceId?: string; destinationId?: string },
  signal: AbortSignal,
  counts: Counts,
  paused: { current: boolean },
  onOpen: () => void,
): Promise<void> {
  let until = performance.now() + TURN_MS;
  for await (const message of client.follow(filter, signal, onOpen)) {
    if (message.name === "missed") counts.missed += Number(message.data.count);
    else {
      counts.messages += 1;
      if (!paused.current) counts.flow.add(message);
    }
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve));
    until = performance.now() + TURN_MS;
  }
}
