import type { FileResult } from "./output.ts";

const SLOWEST = 20;

/** The closing part of a run: skipped tests by reason, the slowest files, the failed files. */
export function report(results: FileResult[]): { text: string; passed: number; failed: number } {
  const sum = (of: "passed" | "failed") => results.reduce((total, one) => total + one[of], 0);
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const lines = ["", `The ${slowest.length} slowest files, in seconds:`];
  for (const { file, seconds } of slowest) lines.push(`${seconds.toFixed(1).padStart(7)}  ${file}`);
  const reasons = reasonsOf(results);
  if (reasons.size > 0) lines.push("", "Skipped tests:");
  for (const [reason, count] of reasons) lines.push(`${String(count).padStart(7)}  ${reason}`);
  const broken = results.filter(({ failed }) => failed > 0);
  if (broken.length > 0) lines.push("", "Files with failures:");
  for (const { file, failed } of broken) lines.push(`${String(failed).padStart(7)}  ${file}`);
  return { text: `${lines.join("\n")}\n`, passed: sum("passed"), failed: sum("failed") };
}

/** Counts of skipped tests by the reason in their titles. */
function reasonsOf(results: FileResult[]): Map<string, number> {
  const reasons = new Map<string, number>();
  for (const title of results.flatMap(({ skipped }) => skipped)) {
    const reason = title.match(/\(skipped: (.*?)\)(?= > |$)/)?.[1] ?? "no reason given";
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return reasons;
}
