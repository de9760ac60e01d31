const timeOfToday = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const dateAndTime = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "short" });

/** Shows a time in the local time zone, with the date unless it is today. Hovering shows UTC. */
export function Time({ at }: { at: string | number }) {
  const date = new Date(at);
  const isToday = day.format(date) === day.format(Date.now());
  return (
    <time class="tabular" dateTime={date.toISOString()} title={utc(date)}>
      {(isToday ? timeOfToday : dateAndTime).format(date)}
    </time>
  );
}

function utc(date: Date): string {
  return `${date.toISOString().replace("T", " ").replace("Z", "")} UTC`;
}
