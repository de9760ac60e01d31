import { memberOf, type Node, nodesOf, sourceFiles, textOf } from "./source.ts";
import { table } from "./table.ts";

export interface Metric {
  name: string;
  type: string;
  labels: string[];
  help: string;
}

const KINDS = /^(Counter|Gauge|Histogram)$/;

/** The server's own metrics, as the code defines them, by name. */
async function metricsOfCode(): Promise<Metric[]> {
  const metrics = (await sourceFiles(/new (Counter|Gauge|Histogram)\b/)).flatMap(({ tree }) => [
    ...direct(tree),
    ...byFunction(tree),
  ]);
  const byName = new Map(metrics.map((metric) => [metric.name, metric]));
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Metrics that are defined with their name: `new Gauge({ name: "pixelmill_…", help: "…" })`. */
function direct(tree: Node): Metric[] {
  return definitions(tree).flatMap(({ type, options }) => {
    const given = memberOf(options, "name");
    const name = nameOf(given);
    // A parameter names the metric where the function is called.
    if (name === undefined && isConstant(tree, given)) {
      throw new Error(`Expected the name of a metric where it is defined, got ${given?.name}`);
    }
    const help = textOf(memberOf(options, "help"), unknownText);
    if (name === undefined || help === undefined) return [];
    return [{ name, type, help, labels: labelsOf(tree, memberOf(options, "labelNames")) }];
  });
}

/** Metrics that a function of the same file defines: `gauge("pixelmill_…", "…")`. */
function byFunction(tree: Node): Metric[] {
  const nodes = [...nodesOf(tree)];
  const calls = nodes.filter(({ type }) => type === "CallExpression");
  return calls.flatMap(({ callee, arguments: given }) => {
    const at = (given as Node[]).findIndex((argument) => nameOf(argument) !== undefined);
    const help = at < 0 ? undefined : textOf(given[at + 1], unknownText);
    if (help === undefined || callee.type !== "Identifier") return [];
    const maker = nodes.find(
      ({ type, id, init }) =>
        id?.name === callee.name &&
        (type === "FunctionDeclaration" || init?.type === "ArrowFunctionExpression"),
    );
    const [defined] = maker ? definitions(maker) : [];
    if (defined === undefined) return [];
    const labels = labelsOf(tree, memberOf(defined.options, "labelNames"));
    return [{ name: nameOf(given[at])!, type: defined.type, help, labels }];
  });
}

function definitions(tree: Node): { type: string; options: Node }[] {
  return [...nodesOf(tree)]
    .filter(({ type, callee }) => type === "NewExpression" && KINDS.test(callee.name))
    .map(({ callee, arguments: [options] }) => ({ type: callee.name.toLowerCase(), options }));
}

/** Whether a node is the name of a constant of the file. */
function isConstant(tree: Node, node: Node | undefined): boolean {
  if (node?.type !== "Identifier") return false;
  return [...nodesOf(tree)].some(
    ({ type, id }) => type === "VariableDeclarator" && id.name === node.name,
  );
}

const nameOf = (node: Node | undefined) =>
  node?.type === "StringLiteral" && /^pixelmill_[a-z_]+$/.test(node.value)
    ? String(node.value)
    : undefined;

const unknownText = (): string => {
  throw new Error("Expected the help of a metric to be a text without expressions");
};

/** The names of a list such as `["kind", ...labels] as const`, or of the constant that holds it. */
function labelsOf(tree: Node, node: Node | undefined): string[] {
  if (node === undefined) return [];
  if (node.type === "TSAsExpression") return labelsOf(tree, node.expression);
  if (node.type === "SpreadElement") return labelsOf(tree, node.argument);
  if (node.type === "StringLiteral") return [node.value];
  if (node.type === "ArrayExpression") {
    return (node.elements as Node[]).flatMap((element) => labelsOf(tree, element));
  }
  const constant = [...nodesOf(tree)].find(
    ({ type, id }) => type === "VariableDeclarator" && id.name === node.name,
  );
  if (constant === undefined) throw new Error(`Expected the labels ${node.name} in the same file`);
  return labelsOf(tree, constant.init);
}

export async function metricsPage(): Promise<string> {
  const rows = (await metricsOfCode()).map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  return `# Metrics

\`GET /metrics\` of the control plane answers the metrics of all processes of a server in Prometheus' text format; each has
the label \`process\` (\`server\`, \`ingest-0\` and so on). Names end in their unit, counters in \`_total\`. Beside these there are
the default metrics of prom-client, \`process_…\` and \`nodejs_…\`. [Operating](../operating.md#what-to-watch) names the ones
to watch. The text is at most a second old.

The labels \`workspace\`, \`destination\`, \`name\`, \`transformation\` and \`version\` are there only with the setting
\`metrics.tenants\`. Without it, counters and numbers of events are sums over all tenants, and ages and 0-or-1 gauges are the
highest. With it, 2,000<!-- METRICS_DESTINATIONS_MAX --> destinations have labels of their own, and the others are added up.

${table(["metric", "type", "labels", "meaning"], rows)}`;
}
