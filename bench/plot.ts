export interface Plot {
  title: string;
  x: string;
  y: string;
  lines: { name: string; points: (readonly [x: number, y: number])[] }[];
}

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 64;
const BOTTOM = 48;
const TOP = 40;
const COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd"];

/** Draws a line chart as SVG; both axes begin at 0. */
export function plot({ title, x, y, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points);
  const xMax = Math.max(...points.map(([value]) => value)) * 1.05;
  const yMax = Math.max(...points.map(([, value]) => value)) * 1.1;
  const across = (value: number) => LEFT + (value / xMax) * (WIDTH - LEFT - 16);
  const up = (value: number) => HEIGHT - BOTTOM - (value / yMax) * (HEIGHT - BOTTOM - TOP);
  const text = (content: string, at: string) => `<text ${at}>${content}</text>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    text(
      number(xMax * share),
      `x="${across(xMax * share)}" y="${HEIGHT - 28}" text-anchor="middle"`,
    ),
    text(number(yMax * share), `x="${LEFT - 8}" y="${up(yMax * share) + 4}" text-anchor="end"`),
    `<path d="M${LEFT} ${up(yMax * share)}H${WIDTH - 16}" stroke="#ddd"/>`,
  ]);
  const drawn = lines.map(({ name, points }, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = points.map(([px, py]) => `${across(px)},${up(py)}`).join(" ");
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...points.map(
        ([px, py]) => `<circle cx="${across(px)}" cy="${up(py)}" r="3" fill="${colour}"/>`,
      ),
      text(name, `x="${LEFT + 12}" y="${TOP + 14 + index * 18}" fill="${colour}"`),
    ].join("\n");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    text(title, `x="${WIDTH / 2}" y="22" text-anchor="middle" font-size="15"`),
    text(x, `x="${WIDTH / 2}" y="${HEIGHT - 8}" text-anchor="middle"`),
    text(
      y,
      `x="16" y="${HEIGHT / 2}" transform="rotate(-90 16 ${HEIGHT / 2})" text-anchor="middle"`,
    ),
    ...ticks,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

const number = (value: number) =>
  value >= 1_000 ? `${Math.round(value / 100) / 10}k` : String(Math.round(value * 10) / 10);
