import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { defaultRule, firstRules, ruleKinds } from "../../src/alerts/rule-kinds.ts";
import { alertKinds } from "../../src/catalog/alerts/model.ts";

const ofWorkspace = [
  ...["destination-failing", "dead-letters", "lag", "code-suspended", "source-silent"],
] as const;
const ofServer = ["server-not-ready", "server-warning", "disk"] as const;

test("the guide has the default of each kind of rule", () => {
  const guide = readFileSync("docs/alerts.md", "utf8").replaceAll(/<!-- .*? -->/g, "");
  const rows = [...guide.matchAll(/^\| `([a-z-]+)` \| .* \| (.*) \|$/gm)];
  const told = Object.fromEntries(rows.map(([, kind, text]) => [kind, text]));
  for (const kind of alertKinds) {
    const { threshold, forSeconds } = ruleKinds[kind];
    const isFirstRule = firstRules(true, 2).some((rule) => rule.kind === kind);
    const units: Record<string, string> = { seconds: " s", "percent free": " %" };
    const least = threshold && `${threshold.fallback}${units[threshold.unit] ?? ""}`;
    const parts = [
      kind === "nodes-missing" ? "the nodes at creation" : least,
      forSeconds > 0 ? `for ${forSeconds.toLocaleString("en")} s` : undefined,
    ].filter((part) => part !== undefined);
    const text = parts.join(", ") + (isFirstRule ? "" : "; not created by itself");
    expect([kind, told[kind]]).toEqual([kind, text]);
  }
});

test.each([
  ["destination-down", 60, "critical", undefined],
  ["destination-failing", 120, "error", undefined],
  ["dead-letters", 900, "error", ["dead letters", 1, 1_000_000_000]],
  ["lag", 300, "warning", ["seconds", 1, 2_592_000]],
  ["code-suspended", 600, "error", undefined],
  ["source-silent", 0, "warning", undefined],
  ["server-not-ready", 60, "critical", undefined],
  ["server-warning", 300, "warning", undefined],
  ["nodes-missing", 60, "error", ["nodes", 2, 1_000]],
  ["disk", 300, "error", ["percent free", 1, 99]],
] as const)(
  "alerts of the kind %s end after %d s, with the severity %s and the threshold %p",
  (kind, ...expected) => {
    const { clearSeconds, severity, threshold } = ruleKinds[kind];
    const bounds = threshold && [threshold.unit, threshold.min, threshold.max];
    expect([clearSeconds, severity, bounds]).toEqual(expected as never);
  },
);

test("a rule has the defaults of its kind, and evaluates all items for all receivers", () => {
  expect(defaultRule("lag")).toStrictEqual({
    ...{ name: "Delivery lag", kind: "lag", enabled: true, threshold: 900 },
    ...{ forSeconds: 60, clearSeconds: 300, subjectIds: [], receiverIds: [] },
  });
  expect("threshold" in defaultRule("destination-down")).toBe(false);
});

test("the first rules of the operator's workspace are about the server too, and about missing nodes of a cluster", () => {
  const kinds = (isOperators: boolean, nodes: number) =>
    firstRules(isOperators, nodes).map(({ kind }) => kind);
  expect(kinds(false, 3)).toEqual([...ofWorkspace]);
  expect(kinds(true, 1)).toEqual([...ofWorkspace, ...ofServer]);
  const [cluster] = firstRules(true, 2).filter(({ kind }) => kind === "nodes-missing");
  expect(cluster).toEqual({ ...defaultRule("nodes-missing"), threshold: 2 });
  expect(firstRules(true, 5).find(({ kind }) => kind === "nodes-missing")?.threshold).toBe(5);
});
