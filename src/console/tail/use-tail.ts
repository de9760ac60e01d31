import { useEffect, useRef, useState } from "preact/hooks";
import { retryDelayMs } from "../data/retry.ts";
import { client } from "../data/session.ts";
import { EventBuffer } from "./event-buffer.ts";

export type TailState = ReturnType<typeof useTail>;

interface TailFilter {
  sourceId?: string;
  destinationId?: string;
}

/** Minimum milliseconds between two renders, however fast events arrive. */
const RENDER_MS = 250;
/**
 * Milliseconds for which messages of the tail are processed without a pause. In each pause, the
 * browser can do other work, such as showing typed text.
 */
const SLICE_MS = 8;

/**
 * Creates an empty buffer and counters for a live tail. `messages` and `events` count what has
 * arrived since `renderedAt`. `missed` counts all messages that the server has skipped.
 */
const newCounters = () => ({
  buffer: new EventBuffer(),
  messages: 0,
  events: 0,
  missed: 0,
  renderedAt: performance.now(),
});
type TailCounters = ReturnType<typeof newCounters>;

/**
 * Component state that follows the live tail (stream of new events), and opens it again when it has
 * ended. Each opening also adds the recent events from the server's memory. The buffer is emptied
 * when `filter` changes.
 */
export function useTail(filter: TailFilter) {
  const counters = useRef<TailCounters>(null);
  counters.current ??= newCounters();
  const bufferedKey = useRef<string | undefined>(undefined);
  const [attempt, setAttempt] = useState(0);
  const [rendered, setRendered] = useState({
    /** Number that changes whenever the screen must render the events of the buffer again. */
    tick: 0,
    /** Events per second or, if the filter has a destination, outcomes at this destination. */
    perSecond: 0,
    /**
     * Number of messages that the server skipped. It skips some if the browser or the network is
     * too slow, or if the workspace's live tails together exceed their bytes per second.
     */
    missed: 0,
  });
  const [state, setState] = useState<"connecting" | "open" | "ended">("connecting");
  /**
   * Error with which the live tail last ended. Undefined once the tail is open again, and if it
   * ended without an error.
   */
  const [error, setError] = useState<unknown>();
  const key = JSON.stringify(filter);

  useEffect(() => {
    const stop = new AbortController();
    const current = counters.current!;
    if (bufferedKey.current !== key) current.buffer.clear();
    bufferedKey.current = key;
    setState("connecting");
    let retry: ReturnType<typeof setTimeout> | undefined;
    const onEnd = (endError?: unknown) => {
      if (stop.signal.aborted) return;
      setState("ended");
      setError(endError);
      retry = setTimeout(() => setAttempt((before) => before + 1), retryDelayMs(endError));
    };
    readTail(filter, stop.signal, current, () => {
      setState("open");
      setError(undefined);
      void addRecentEvents(filter, stop.signal, current);
    }).then(() => onEnd(), onEnd);
    return () => {
      stop.abort();
      clearTimeout(retry);
    };
  }, [key, attempt]);

  useEffect(() => {
    const timer = setInterval(() => {
      // Events that arrive while the page is hidden are rendered once it is visible again.
      if (document.hidden) return;
      const now = performance.now();
      const { messages, events, missed, renderedAt } = counters.current!;
      Object.assign(counters.current!, { messages: 0, events: 0, renderedAt: now });
      const perSecond = (events * 1_000) / (now - renderedAt);
      setRendered((before) => {
        const isIdle = messages === 0 && missed === before.missed && before.perSecond < 0.05;
        if (isIdle) return before;
        // Smoothing keeps the displayed rate readable.
        const smooth = before.perSecond * 0.7 + perSecond * 0.3;
        return { tick: before.tick + 1, perSecond: smooth, missed };
      });
    }, RENDER_MS);
    return () => clearInterval(timer);
  }, []);

  const reconnect = () => setAttempt(attempt + 1);
  return { ...rendered, buffer: counters.current.buffer, state, error, reconnect };
}

async function readTail(
  filter: TailFilter,
  signal: AbortSignal,
  counters: TailCounters,
  onOpen: () => void,
): Promise<void> {
  let sliceEnd = performance.now() + SLICE_MS;
  for await (const message of client.follow(filter, signal, onOpen)) {
    if (message.name === "missed") counters.missed += Number(message.data.count);
    else {
      counters.messages += 1;
      // The tail of one destination has no messages about received events.
      if (message.name === "received" || filter.destinationId !== undefined) counters.events += 1;
      counters.buffer.add(message);
    }
    if (performance.now() < sliceEnd) continue;
    await new Promise((resolve) => setTimeout(resolve));
    sliceEnd = performance.now() + SLICE_MS;
  }
}

async function addRecentEvents(
  filter: TailFilter,
  signal: AbortSignal,
  counters: TailCounters,
): Promise<void> {
  // Without the recent events, the tail shows only new ones.
  const answer = await client
    .call("GET /v2/events/recent", { query: filter })
    .catch(() => undefined);
  if (answer === undefined || signal.aborted) return;
  counters.buffer.addRecent(answer.events);
  counters.messages += answer.events.length;
}
