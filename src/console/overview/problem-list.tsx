import { useState } from "preact/hooks";
import { Button, LinkButton } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { Time } from "../components/time.tsx";
import type { Overview } from "../data/model.ts";
import { missingPermission } from "../data/session.ts";
import { hrefTo } from "../router.ts";
import { overviewTexts } from "../texts/overview.ts";

type Problem = Overview["problems"][number];

const SHOWN_FIRST = 8;
const urgent = new Set<Problem["kind"]>(["not-ready", "destination-down", "suspended"]);

/**
 * Shows the workspace's problems, worst first, with their ages and what to do. `total` is the
 * number of all problems. If it is larger than the list, a link leads to the rest.
 */
export function ProblemList({ problems, total }: { problems: readonly Problem[]; total: number }) {
  const [isWhole, setWhole] = useState(false);
  if (problems.length === 0) {
    return (
      <p class="row quiet">
        <span class="good">
          <Icon name="check" />
        </span>
        {overviewTexts.noIssues}
      </p>
    );
  }
  const shown = isWhole ? problems : problems.slice(0, SHOWN_FIRST);
  const hidden = problems.length - shown.length;
  return (
    <section class="panel" aria-label={overviewTexts.issues}>
      <ul>
        {shown.map((problem) => (
          <ProblemRow key={problem.kind + problem.message} problem={problem} />
        ))}
      </ul>
      {(hidden > 0 || total > problems.length) && (
        <p class="pages">
          {hidden > 0 && (
            <Button compact onClick={() => setWhole(true)}>
              {overviewTexts.showMore(hidden)}
            </Button>
          )}
          {total > problems.length && (
            <a href={hrefTo("destinations")}>
              {overviewTexts.issuesNotShown(total - problems.length)}
            </a>
          )}
        </p>
      )}
    </section>
  );
}

function ProblemRow({ problem }: { problem: Problem }) {
  const { kind, message, destinationId, count, since } = problem;
  const href = problemHref(problem);
  const needs = adminScreens.has(href) ? "workspace:admin" : undefined;
  return (
    <li class="entry">
      <span class={urgent.has(kind) ? "bad" : "warn"}>
        <Icon name="alert" />
      </span>
      {missingPermission(needs) === undefined ? (
        <a class="problem clamp" href={href}>
          {message}
        </a>
      ) : (
        <span class="problem">{message}</span>
      )}
      {since && <span class="quiet small">{overviewTexts.since(<Time at={since} />)}</span>}
      {count !== undefined && destinationId !== undefined && kind !== "dead-letters" && (
        <a class="small" href={hrefTo("dead-letters", { destinationId })}>
          {overviewTexts.deadLetters(count)}
        </a>
      )}
      <LinkButton compact needs={needs} href={href}>
        {overviewTexts.actions[kind]}
      </LinkButton>
    </li>
  );
}

const receiversHref = hrefTo("alerts", "receivers");
const systemHref = hrefTo("system");
const adminScreens = new Set([receiversHref, systemHref]);

function problemHref({ kind, destinationId, transformationId, sourceId }: Problem): string {
  if (kind === "alert-receiver") return receiversHref;
  if (kind === "dead-letters") return hrefTo("dead-letters", { destinationId });
  if (transformationId !== undefined) return hrefTo("transformations", transformationId);
  if (destinationId !== undefined) return hrefTo("destinations", destinationId);
  if (sourceId !== undefined) return hrefTo("sources", sourceId);
  return systemHref;
}
