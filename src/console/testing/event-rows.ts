import { useRef, useState } from "preact/hooks";

type JsonObject = Record<string, unknown>;

/** Maximum number of rows in a list of real events, besides those that are selected. */
export const EVENT_ROWS_MAX = 50;

/** One event of a list, with a number that no other event of the list has. */
export interface EventRow {
  number: number;
  event: JsonObject;
}

/**
 * State of a list of events that arrive while the user selects some. The selection holds its own
 * copies: an event stays selected when newer events take its place. While the list is held (the
 * pointer is over it, or it has the focus), no row moves; the events that arrived meanwhile are shown
 * after the release.
 */
export function useEventRows() {
  const [rows, setRows] = useState<readonly EventRow[]>([]);
  const [selected, setSelected] = useState<ReadonlyMap<number, JsonObject>>(new Map());
  /** The newest events, newest first, whether shown or not. */
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
