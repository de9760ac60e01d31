import { RequestRefused } from "../../api/client.ts";
import { PartNotLoaded } from "../data/load-part.ts";
import { OutcomeUnknown, SessionEnded } from "../data/retry.ts";
import { commonTexts } from "../texts/common.ts";
import { Button } from "./button.tsx";
import { withCode } from "./inline-code.tsx";

interface ErrorProps {
  error: unknown;
  /**
   * Returns whether another element, such as a field, already shows the error detail about the
   * value at the JSON pointer `path`. `ErrorText` then omits this detail.
   */
  isShown?: (path: string) => boolean;
}

/**
 * Shows an error's message and its details. Omits each detail for which `isShown` returns true. If
 * it omits any, it also omits the message. If it omits all, it points to the marked fields.
 */
export function ErrorText({ error, isShown = () => false }: ErrorProps) {
  const all = error instanceof RequestRefused ? error.details : [];
  const details = all.filter(({ path }) => !isShown(path));
  if (all.length > details.length && details.length === 0) return <p>{commonTexts.markedFields}</p>;
  return (
    <>
      {/* The message repeats the first detail. */}
      {all.length === details.length && <p>{withCode(errorMessage(error))}</p>}
      {details.length > 0 && (
        <ul>
          {details.map(({ path, message, line, column }) => (
            <li key={path + message}>
              <code>{line === undefined ? path : `${path} ${line}:${column ?? 1}`}</code>
              <span>{withCode(message)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/**
 * Shows an error, for example in place of content that could not be loaded. If `retry` is given, a
 * button calls it.
 */
export function ErrorNotice({ retry, ...shown }: ErrorProps & { retry?: () => unknown }) {
  if (shown.error === undefined || shown.error === null) return null;
  return (
    <div class="error" role="alert">
      <ErrorText {...shown} />
      {retry && (
        <div>
          <Button compact icon="turn" onClick={retry}>
            {commonTexts.tryAgain}
          </Button>
        </div>
      )}
    </div>
  );
}

export function errorMessage(error: unknown): string {
  if (error instanceof RequestRefused) {
    const { message, retryAfter } = error;
    return retryAfter === undefined ? message : commonTexts.waitSeconds(message, retryAfter);
  }
  // `fetch` throws a TypeError when there is no answer. Each browser words it differently.
  if (error instanceof OutcomeUnknown) return commonTexts.outcomeUnknown(error.isRepeatable);
  if (error instanceof SessionEnded) return commonTexts.sessionEnded;
  if (error instanceof PartNotLoaded) return commonTexts.partNotLoaded;
  if (error instanceof TypeError) return commonTexts.serverUnreachable;
  return error instanceof Error ? error.message : String(error);
}
