import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pixelmillCommand } from "../e2e/command.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { INSTANCE, type Scrape, seriesOf } from "./scrapes.ts";

/** Alert rules as a file of Prometheus has them. */
export interface Rules {
  text: string;
  rules: { alert: string; labels: object; annotations: object }[];
}

/** Returns the rules that `pixelmill print alerts` prints. */
export function printedRules(): Rules {
  const command = [...pixelmillCommand, "print", "alerts"];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env: {} });
  if (exitCode !== 0) throw new Error(`pixelmill print alerts: ${stderr}`);
  const text = stdout.toString();
  const { groups } = Bun.YAML.parse(text) as { groups: { rules: Rules["rules"] }[] };
  return { text, rules: groups.flatMap(({ rules }) => rules) };
}

export interface JudgeOptions {
  rules: Rules;
  /** Seconds from one scrape to the next, for the rules. */
  intervalSeconds: number;
  /** Alerts that must fire at the last scrape, and may fire before. No other may ever fire. */
  expected?: readonly string[];
}

/**
 * Evaluates the rules over scrapes with promtool, at each of them. Returns what promtool says of
 * alerts that fired and should not have, or that did not and should have; empty when there are
 * none.
 */
export function judge(
  scrapes: readonly Scrape[],
  { rules: { text, rules }, intervalSeconds, expected = [] }: JudgeOptions,
): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "rules.yml"), text);
  const end = (scrapes.length - 1) * intervalSeconds;
  const times = scrapes.map((_, index) => index * intervalSeconds);
  const test = {
    interval: `${intervalSeconds}s`,
    input_series: seriesOf(scrapes, (name) => text.includes(name)),
    alert_rule_test: rules.flatMap(({ alert, labels, annotations }) => {
      if (!expected.includes(alert)) {
        return times.map((time) => ({ eval_time: `${time}s`, alertname: alert, exp_alerts: [] }));
      }
      const job = alert === "PixelmillAway" && { job: "pixelmill" };
      const exp_labels = { instance: INSTANCE, ...job, ...labels };
      const exp_alerts = [{ exp_labels, exp_annotations: annotations }];
      return [{ eval_time: `${end}s`, alertname: alert, exp_alerts }];
    }),
  };
  const evaluation_interval = `${intervalSeconds}s`;
  const suite = { rule_files: ["rules.yml"], evaluation_interval, tests: [test] };
  const file = join(directory, "test.yml");
  writeFileSync(file, JSON.stringify(suite));
  const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", "test", "rules", file]);
  removeDirectory(directory);
  return exitCode === 0 ? "" : `${stdout}${stderr}`;
}
