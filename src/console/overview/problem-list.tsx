import { Icon } from "../components/icon.tsx";
import { Time } from "../components/time.tsx";
import type { Overview } from "../data/model.ts";
import { hrefTo } from "../router.ts";

type Problem = Overview["problems"][number];

const SHOWN_MAX = 20;
const urgent = new Set<Problem["kind"]>(["not-ready", "destination-down", "suspended"]);

/**
 * Shows the problems of the workspace in the order of the server's response, at most `SHOWN_MAX`.
 */
export function ProblemList({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) {
    return (
      <p class="no-issues">
        <span class="good">
          <Icon name="check" />
        </span>
        No issues
      </p>
    );
  }
  return (
    <section class="panel" aria-label="Issues">
      <ul>
        {problems.slice(0, SHOWN_MAX).map((problem) => (
          <li class="entry" key={problem.kind + problem.message}>
            <span class={urgent.has(problem.kind) ? "bad" : "warn"}>
              <Icon name="alert" />
            </span>
            <a class="problem" href={problemHref(problem)}>
              {problem.message}
            </a>
            {problem.since && (
              <span class="quiet small">
                since <Time at={problem.since} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {problems.length > SHOWN_MAX && <p class="pages">{problems.length - SHOWN_MAX} more</p>}
    </section>
  );
}

function problemHref({ kind, destinationId, transformationId }: Problem): string {
  if (kind === "dead-letters") return hrefTo("dead-letters", { destinationId });
  if (transformationId !== undefined) return hrefTo("transformations", transformationId);
  if (destinationId !== undefined) return hrefTo("destinations", destinationId);
  return hrefTo("system");
}
