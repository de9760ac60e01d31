import { useRef, useState } from "preact/hooks";

export type JsonObject = Record<string, unknown>;

/**
 * Number of newest events that the list of `useEventRows` keeps. Selected events stay in the list
 * even if they are older.
 */
export const EVENT_ROWS_MAX = 50;

/** Row of the list: an event, and a number that no other row of the list has. */
export interface EventRow {
  number: number;
  event: JsonObject;
}

/**
 * Component state for a list of the `EVENT_ROWS_MAX` newest events and all selected events. Between
 * `hold` and `release` the rows stay as they are. Events that arrive meanwhile are shown after
 * `release`.
 */
export function useEventRows() {
  const [rows, setRows] = useState<readonly EventRow[]>([]);
  const [selected, setSelected] = useState<ReadonlyMap<number, JsonObject>>(new Map());
  /** Newest events, newest first. Events added between `hold` and `release` are not shown yet. */
  const newest = useRef<readonly EventRow[]>([]);
  const chosen = useRef(selected);
  const holds = useRef(0);
  const count = useRef(0);

  function select(next: ReadonlyMap<number, JsonObject>): void {
    chosen.current = next;
    setSelected(next);
  }

  function show(): void {
    if (holds.current > 0) return;
    const shown = new Set(newest.current.map(({ number }) => number));
    const older = [...chosen.current].filter(([number]) => !shown.has(number));
    setRows([...newest.current, ...older.map(([number, event]) => ({ number, event }))]);
  }

  return {
    rows,
    /** Selected events by their numbers, in the order of selection. */
    selected,
    add(event: JsonObject): void {
      const row = { number: count.current++, event };
      newest.current = [row, ...newest.current].slice(0, EVENT_ROWS_MAX);
      show();
    },
    toggle({ number, event }: EventRow): void {
      const next = new Map(chosen.current);
      if (!next.delete(number)) next.set(number, event);
      select(next);
    },
    hold(): void {
      holds.current++;
    },
    release(): void {
      holds.current = Math.max(0, holds.current - 1);
      show();
    },
    clear(): void {
      newest.current = [];
      holds.current = 0;
      select(new Map());
      setRows([]);
    },
  };
}
