import { useEffect, useRef } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { failedRequests } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { currentRoute, hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { shellTexts } from "../texts/shell.ts";

type Readiness = Pick<AnswerOf<"GET /ready">, "ready" | "checks">;

const POLL_MS = 10_000;
/** Minimum milliseconds between two reads of `/ready` that are caused by failed requests. */
const READ_MS_MIN = 2_000;
/**
 * Screens that show the server's problems themselves, by the first segment of their routes.
 * `ServerTrouble` shows nothing there.
 */
const showThemselves = new Set(["", "system"]);

/**
 * Notice that says why the server accepts or delivers no events. Reads `/ready` every `POLL_MS`,
 * and after failed requests (at most once per `READ_MS_MIN`). Hidden on the screens in
 * `showThemselves`.
 */
export function ServerTrouble() {
  const { value, reload } = useResource(readReadiness, [], POLL_MS);
  const readAt = useRef(Number.NEGATIVE_INFINITY);
  const failed = failedRequests.value;
  useEffect(() => {
    if (failed === 0 || performance.now() - readAt.current < READ_MS_MIN) return;
    readAt.current = performance.now();
    void reload();
  }, [failed, reload]);
  const [screen = ""] = currentRoute.value.segments;
  if (value === undefined || value.ready || showThemselves.has(screen)) return null;
  const failing = Object.entries(value.checks).filter(([, { ok }]) => !ok);
  return (
    <section class="error" role="status">
      <p>
        {shellTexts.notReady} <a href={hrefTo("system")}>{commonTexts.system}</a>
      </p>
      <ul>
        {failing.map(([check, { message }]) => (
          <li key={check}>{message ? `${check}: ${message}` : check}</li>
        ))}
      </ul>
    </section>
  );
}

/**
 * Reads `/ready`, whose status is 200 or 503, and resolves with the checks in its answer. Resolves
 * with undefined if there is no answer, or if the answer has no checks.
 */
async function readReadiness(): Promise<Readiness | undefined> {
  try {
    const response = await fetch("/ready", { signal: AbortSignal.timeout(POLL_MS) });
    const answer: Partial<Readiness> = await response.json();
    const { ready, checks } = answer;
    return ready === undefined || checks === undefined ? undefined : { ready, checks };
  } catch {
    return undefined;
  }
}
