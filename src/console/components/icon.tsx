/** SVG paths of the icons, on a grid of 16 by 16 units. */
const paths = {
  overview: "M2 2.5h5v4H2zM9 9.5h5v4H9zM7 4.5h3.5a1 1 0 0 1 1 1v4M2 11.5h4M4 9.5v4",
  source: "M8 13V8M5 10.5a3.5 3.5 0 1 1 6 0M2.8 12.5a6.5 6.5 0 1 1 10.4 0",
  code: "M5 4 1.5 8 5 12M11 4l3.5 4L11 12M9 2.5l-2 11",
  library: "M3 2.5h3v11H3zM6 2.5h3v11H6zM9.6 3.1l2.8-.8 2.6 10.6-2.8.8z",
  destination: "M2 8h8M7 4.5 10.5 8 7 11.5M10 2.5h2.5a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H10",
  tail: "M1.5 8H4l2-5 3.5 10 2-5h3",
  letter: "M2 3.5h12v9H2zM2 4l6 5 6-5",
  settings:
    "M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4",
  system: "M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14",
  plus: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5 6.5 12 13 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  alert: "M8 2 1.5 13.5h13zM8 6.5v3.5M8 12h.01",
  info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.5V11M8 5h.01",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M5 3v10M11 3v10",
  bin: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.7 7v4M9.3 7v4",
  turn: "M13.5 8a5.5 5.5 0 1 1-1.6-3.9M13.5 2v3h-3",
  out: "M6 2.5H2.5v11H6M6.5 8h7M10.5 5l3 3-3 3",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.3 4.3L11 9M9 11.5 7.5 13a3 3 0 0 1-4.3-4.3L5 7",
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.5V8l2.5 1.5",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill="#4f46e5" />
      <path d="M4 4h3v3H4zM9 4h3v3H9zM4 9h3v3H4z" fill="#fff" />
      <path d="M9 9h3v3H9z" fill="#a5b4fc" />
    </svg>
  );
}
