import { Glob } from "bun";
import { configSchema } from "../../src/settings/schema.ts";
import { withoutCode } from "./markdown.ts";

/**
 * Numbers of the documents. A number that the code decides has the name of its limit, constant or
 * setting behind it, in a comment: `256 MiB<!-- GUEST_MEMORY_BYTES_MAX -->`. Other numbers with a
 * unit say where they come from: `measured`, `example`, or `fixed` by a format or by others.
 */
const ORIGINS = new Set(["measured", "example", "fixed"]);

const UNITS: Record<string, { of: RegExp; factor: number }> = {
  bytes: { of: /BYTES/, factor: 1 },
  KB: { of: /BYTES/, factor: 1_000 },
  KiB: { of: /BYTES/, factor: 2 ** 10 },
  MB: { of: /BYTES/, factor: 1_000_000 },
  MiB: { of: /BYTES/, factor: 2 ** 20 },
  GB: { of: /BYTES/, factor: 1_000_000_000 },
  GiB: { of: /BYTES/, factor: 2 ** 30 },
  characters: { of: /CHARS/, factor: 1 },
  ms: { of: /_MS/, factor: 1 },
  s: { of: /_MS|SECONDS|session|window/, factor: 1 },
  seconds: { of: /_MS|SECONDS|session|window/, factor: 1 },
  minutes: { of: /_MS|SECONDS|window/, factor: 60 },
  hours: { of: /_MS|SECONDS|window/, factor: 3_600 },
  days: { of: /_MS|SECONDS|window/, factor: 86_400 },
};
const NUMBER = `(\\d[\\d,]*(?:\\.\\d+)?)(?:\\s(${Object.keys(UNITS).join("|")})\\b)?`;

/** Values of constants by their name and by `room:NAME`, where the room is a folder of src. */
type Constants = Map<string, Set<number>>;

export async function constants(): Promise<Constants> {
  const values: Constants = new Map();
  for (const path of new Glob("src/**/*.{ts,tsx}").scanSync(".")) {
    const text = await Bun.file(path).text();
    for (const [, name, expression] of text.matchAll(
      /^(?:export )?const ([A-Z][A-Z0-9_]+) = ([\d_*. <]+);/gm,
    )) {
      const value = evaluate(expression!);
      for (const key of [name!, `${path.split("/")[1]}:${name}`]) {
        values.set(key, (values.get(key) ?? new Set()).add(value));
      }
    }
  }
  for (const [key, schema] of Object.entries(configSchema.properties)) {
    if (typeof schema.default === "number") values.set(key, new Set([schema.default]));
  }
  return values;
}

/** The value of `4_096`, `64 << 20` or `2 * 60 * 1_000`. */
function evaluate(expression: string): number {
  const [base = "", shift] = expression.split("<<");
  const product = base
    .split("*")
    .reduce((value, factor) => value * Number(factor.replaceAll("_", "").trim()), 1);
  return shift === undefined ? product : product * 2 ** Number(shift);
}

/** Finds wrong numbers on a page. */
export function numberFaults(markdown: string, values: Constants): string[] {
  const text = withoutCode(markdown);
  const marked = [...text.matchAll(new RegExp(`${NUMBER}<!-- ([\\w.:]+) -->`, "g"))];
  const wrong = marked.flatMap(([whole, digits, unit, name]) => {
    if (ORIGINS.has(name!)) return [];
    const known = values.get(name!);
    if (known === undefined) return [`${whole}: there is no constant ${name}`];
    if (known.size > 1 && !name!.includes(":")) return [`${whole}: ${name} has several values`];
    const has = known.has(inUnit(digits!, unit, name!));
    return has ? [] : [`${whole}: ${name} is ${[...known].join(" or ")}`];
  });
  const bare = [...text.matchAll(new RegExp(`\\b${NUMBER}(?!<!--)`, "g"))]
    .filter(([whole, , unit]) => unit !== undefined && !marked.some(([it]) => it.startsWith(whole)))
    .map(([whole]) => `${whole}: expected the name of the limit behind it`);
  return [...wrong, ...bare];
}

function inUnit(digits: string, unit: string | undefined, name: string): number {
  const number = Number(digits.replaceAll(",", ""));
  if (unit === undefined || name.includes(`_${unit.toUpperCase()}_`)) return number;
  const { of, factor } = UNITS[unit]!;
  if (!of.test(name)) return Number.NaN;
  const isTime = /_MS/.test(name) && unit !== "ms";
  return Math.round(number * factor * (isTime ? 1_000 : 1));
}
