/** One scrape of a server: the values of its series, or none when it did not answer. */
export interface Scrape {
  /** Milliseconds since the epoch. */
  at: number;
  values: Map<string, number> | undefined;
}

/** Instance that all scrapes have as their label, as Prometheus adds it. */
export const INSTANCE = "a";
/** A server that does not answer within this time counts as away, as at Prometheus. */
const TIMEOUT_MS = 10_000;
const LINE = /^(pixelmill_\w+)(?:\{(.*)\})? (\S+)$/gm;

/** Scrapes `/metrics` of a control plane once. */
export async function scrape(controlPlane: string): Promise<Scrape> {
  const at = Date.now();
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${controlPlane}/metrics`, { signal, keepalive: false });
    if (!response.ok) return { at, values: undefined };
    return { at, values: valuesOf(await response.text()) };
  } catch {
    return { at, values: undefined };
  }
}

function valuesOf(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const [, name, labels, value] of text.matchAll(LINE)) {
    const all = [`instance="${INSTANCE}"`, 'job="pixelmill"', labels].filter(Boolean);
    values.set(`${name}{${all.join(",")}}`, Number(value));
  }
  return values;
}

/**
 * Returns the scrapes as series of promtool, with a value for each. Prometheus' time begins at 0
 * there, so metrics that are times are counted from the first scrape.
 */
export function seriesOf(
  scrapes: readonly Scrape[],
  isWanted: (name: string) => boolean,
): { series: string; values: string }[] {
  const start = (scrapes[0]?.at ?? 0) / 1_000;
  const names = new Set(scrapes.flatMap(({ values }) => [...(values?.keys() ?? [])]));
  const up = scrapes.map(({ values }) => (values === undefined ? "0" : "1"));
  const found = [...names].flatMap((series) => {
    const name = series.slice(0, series.indexOf("{"));
    if (!isWanted(name)) return [];
    const shift = name.endsWith("_timestamp_seconds") ? start : 0;
    let wasThere = false;
    const values = scrapes.map((scrape) => {
      const value = scrape.values?.get(series);
      // Prometheus ends a series when a scrape fails or lacks it.
      const text = value === undefined ? (wasThere ? "stale" : "_") : String(value - shift);
      wasThere = value !== undefined;
      return text;
    });
    return [{ series, values: values.join(" ") }];
  });
  return [{ series: `up{instance="${INSTANCE}",job="pixelmill"}`, values: up.join(" ") }, ...found];
}
