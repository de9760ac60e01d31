import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { start } from "./in-process.ts";

let directory: string;
beforeAll(() => {
  directory = temporaryDirectory();
});
afterAll(() => removeDirectory(directory));

async function print(topic: string): Promise<string> {
  const { output, ended } = start(["print", topic]);
  expect(await ended).toBe(0);
  return output.text;
}

test.each([
  ["alerts", "docs/monitoring.md", 1],
  ["systemd", "docs/operating.md", 3],
  ["kubernetes", "docs/operating.md", 1],
  ["nginx", "docs/pixels.md", 1],
  ["haproxy", "docs/pixels.md", 1],
])("print %s prints what %s shows", async (topic, path, count) => {
  const page = await Bun.file(path).text();
  const parts = (await print(topic)).split(/^# \/.*\n/m);
  const shown = parts.map((part) => part.trim()).filter((part) => part !== "");
  expect(shown).toHaveLength(count);
  for (const part of shown) expect(page).toContain(`\n${part}\n\`\`\``);
});

async function alertRules(): Promise<{ expr: string }[]> {
  const text = await print("alerts");
  const { groups } = Bun.YAML.parse(text) as { groups: { rules: { expr: string }[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

async function dashboardLines(): Promise<{ expr: string; legendFormat: string }[]> {
  return JSON.parse(await print("grafana")).panels.flatMap(({ targets }: any) => targets);
}

describe("metrics", () => {
  test.each([["alerts"], ["grafana"]])("all that %s names exist", async (topic) => {
    const named = new Set((await print(topic)).match(/\bpixelmill_[a-z_]+/g));
    // Another test holds the reference equal to the code.
    const reference = await Bun.file("docs/reference/metrics.md").text();
    const rows = [...reference.matchAll(/^\| `(pixelmill_\w+)` \| (\w+) \|/gm)];
    const known = rows.flatMap(([, name, type]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    );
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((name) => !known.includes(name))).toEqual([]);
  });

  test.each([
    ["alerts", async () => (await alertRules()).map(({ expr }) => expr)],
    ["grafana", async () => (await dashboardLines()).map(({ expr }) => expr)],
  ])("all labels by which %s group and select are those of the metrics", async (_, read) => {
    const reference = await Bun.file("docs/reference/metrics.md").text();
    const rows = reference.matchAll(/^\| `(pixelmill_\w+)` \| \w+ \| (.*?) \|/gm);
    const labelsOf = Object.fromEntries(
      [...rows].map(([, name, labels]) => [name!, labels!.match(/\w+/g) ?? []]),
    );
    // Prometheus adds the first two, the server the third, and histograms have the last.
    const common = ["instance", "job", "process", "le"];
    const unknown = (await read()).flatMap((expr) => {
      const metrics = expr.match(/\bpixelmill_\w+/g) ?? [];
      const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, it]) => it!.split(", "));
      return metrics.flatMap((metric) => {
        const labels = labelsOf[metric] ?? labelsOf[metric.replace(/_(bucket|sum|count)$/, "")];
        const known = [...common, ...(labels ?? [])];
        const selector = new RegExp(`${metric}\\{([^}]*)\\}`).exec(expr)?.[1] ?? "";
        const selected = selector.match(/\w+(?=!?[=~])/g) ?? [];
        return [...grouped, ...selected]
          .filter((label) => !known.includes(label))
          .map((label) => `${label} of ${metric} in ${expr}`);
      });
    });
    expect(unknown).toEqual([]);
  });

  test("the names of the dashboard's lines are labels by which they group", async () => {
    const named = (await dashboardLines()).flatMap(({ expr, legendFormat }) =>
      [...legendFormat.matchAll(/{{(\w+)}}/g)].map(([, label]) => [label!, expr] as const),
    );
    expect(named.length).toBeGreaterThan(5);
    const isGrouped = ([label, expr]: readonly [string, string]) =>
      new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr);
    expect(named.filter((it) => !isGrouped(it))).toEqual([]);
  });

  test("the dashboard's lines of quantiles have the quantile as their name", async () => {
    const names = (await dashboardLines()).flatMap(({ expr, legendFormat }) => {
      const [, quantile] = /^histogram_quantile\(([^,]+),/.exec(expr) ?? [];
      return quantile === undefined ? [] : [`${quantile} ${legendFormat}`];
    });
    expect(names.length).toBeGreaterThan(3);
    expect([...new Set(names)].sort()).toEqual(["0.5 median", "0.99 99 %"]);
  });

  test("the dashboard is JSON with panels that do not overlap", async () => {
    const { panels } = JSON.parse(await print("grafana"));
    const places = panels.map(({ gridPos: { x, y } }: any) => `${x} ${y}`);
    expect(new Set(places).size).toBe(panels.length);
  });
});

interface Rule {
  alert: string;
  labels: object;
  annotations: object;
}

/** Figures of a server without trouble, one a minute. */
const healthy: Record<string, string> = {
  'up{job="pixelmill",instance="a"}': "1x60",
  'pixelmill_log_healthy_ratio{instance="a",process="ingest-0"}': "1x60",
  'pixelmill_pixel_requests_total{instance="a",process="ingest-0",status="200"}': "0+6000x60",
  'pixelmill_pixel_requests_total{instance="a",process="ingest-0",status="503"}': "0+6x60",
  'pixelmill_disk_free_bytes{instance="a",process="server"}': "500x60",
  'pixelmill_disk_used_bytes{instance="a",process="server",part="events"}': "400x60",
  'pixelmill_disk_used_bytes{instance="a",process="server",part="catalog"}': "10x60",
  'pixelmill_oldest_undelivered_seconds{instance="a",process="server"}': "2x60",
  'pixelmill_dead_letters{instance="a",process="server"}': "5x60",
  'pixelmill_programs_suspended{instance="a",process="server"}': "0x60",
  'pixelmill_log_missing_records_total{instance="a",process="server"}': "0x60",
  'pixelmill_log_damaged_bytes_total{instance="a",process="server"}': "0x60",
  'pixelmill_ingest_deaths_total{instance="a",process="server"}': "1x60",
  'pixelmill_program_culprits_total{instance="a",process="server",cause="timeout"}': "2x60",
  'pixelmill_tls_expiry_timestamp_seconds{instance="a",process="server",plane="data"}':
    "9999999x60",
  'pixelmill_tls_files_usable_ratio{instance="a",process="server",plane="data"}': "1x60",
  'pixelmill_backup_age_seconds{instance="a",process="server"}': "0+60x60",
  'pixelmill_backup_interval_seconds{instance="a",process="server"}': "86400x60",
};

/** For each alert, the figures of its fault. */
const faults: Record<string, Record<string, string>> = {
  PixelmillAway: { up: "0x60" },
  PixelmillLogNotWritable: { pixelmill_log_healthy_ratio: "0x60" },
  PixelmillPixelsRefused: { 'status="503"': "0+600x60" },
  PixelmillDiskNearlyFull: { pixelmill_disk_free_bytes: "40x60" },
  PixelmillDeliveryLate: { pixelmill_oldest_undelivered_seconds: "0+60x60" },
  PixelmillDeadLettersGrow: { pixelmill_dead_letters: "0+1x60" },
  PixelmillCodeSuspended: { pixelmill_programs_suspended: "1x60" },
  PixelmillEventsLost: { pixelmill_log_damaged_bytes_total: "10x60" },
  PixelmillGuestsCrash: { pixelmill_program_culprits_total: "0+1x60" },
  PixelmillIngestDies: { pixelmill_ingest_deaths_total: "0+1x60" },
  PixelmillCertificateEnds: { pixelmill_tls_expiry_timestamp_seconds: "600000x60" },
  PixelmillCertificateUnusable: { pixelmill_tls_files_usable_ratio: "0x60" },
  PixelmillBackupLate: { pixelmill_backup_age_seconds: "172800+60x60" },
};

testWith(missingPrograms("promtool"))("promtool accepts the alert rules", async () => {
  const file = join(directory, "checked.yml");
  writeFileSync(file, await print("alerts"));
  const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", "check", "rules", file]);
  expect({ exitCode, output: `${stdout}${stderr}` }).toMatchObject({ exitCode: 0 });
});

testWith(missingPrograms("promtool"))(
  "each alert rule fires on its fault, and no other rule does",
  async () => {
    const text = await print("alerts");
    writeFileSync(join(directory, "rules.yml"), text);
    const { groups } = Bun.YAML.parse(text) as { groups: { rules: Rule[] }[] };
    const { rules } = groups[0]!;
    expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(faults));
    const tests = [undefined, ...Object.keys(faults)].map((fault) => {
      const values = Object.entries(faults[fault ?? ""] ?? {});
      return {
        interval: "1m",
        input_series: Object.entries(healthy).map(([series, fine]) => ({
          series,
          values: values.find(([part]) => series.includes(part))?.[1] ?? fine,
        })),
        alert_rule_test: rules.map(({ alert, labels, annotations }) => {
          const job = alert === "PixelmillAway" && { job: "pixelmill" };
          const fires = {
            exp_labels: { instance: "a", ...job, ...labels },
            exp_annotations: annotations,
          };
          return { eval_time: "45m", alertname: alert, exp_alerts: alert === fault ? [fires] : [] };
        }),
      };
    });
    const file = join(directory, "test.yml");
    const suite = { rule_files: ["rules.yml"], evaluation_interval: "1m", tests };
    writeFileSync(file, JSON.stringify(suite));
    const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", "test", "rules", file]);
    expect({ exitCode, output: `${stdout}${stderr}` }).toMatchObject({ exitCode: 0 });
  },
);

test("the dashboard has its panels in two columns, each with lines of its own", async () => {
  const { panels, templating, ...about } = JSON.parse(await print("grafana"));
  expect(about).toMatchObject({ title: "pixelmill", uid: "pixelmill", editable: true });
  expect(templating.list).toMatchObject([{ type: "datasource", query: "prometheus" }]);
  for (const [at, { id, type, gridPos, targets, fieldConfig, datasource }] of panels.entries()) {
    const place = { x: at % 2 === 0 ? 0 : 12, y: 8 * Math.floor(at / 2), w: 12, h: 8 };
    expect({ id, type, gridPos }).toEqual({ id: at + 1, type: "timeseries", gridPos: place });
    const letters = ["A", "B", "C"].slice(0, targets.length);
    expect(targets.map(({ refId }: any) => refId)).toEqual(letters);
    expect(new Set(targets.map(({ expr }: any) => expr)).size).toBe(targets.length);
    expect(fieldConfig.defaults).toEqual({ unit: expect.stringMatching(/./), min: 0 });
    expect(datasource.uid).toBe(`$${templating.list[0].name}`);
  }
  const onDisk = panels.find(({ title }: any) => title === "Until events are on disk");
  const quantile = (share: string) =>
    `histogram_quantile(${share}, sum by (le) (rate(pixelmill_log_flush_seconds_bucket[$__rate_interval])))`;
  expect(onDisk.targets).toMatchObject([
    { expr: quantile("0.5"), legendFormat: "median" },
    { expr: quantile("0.99"), legendFormat: "99 %" },
  ]);
});
