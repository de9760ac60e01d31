import { RequestRefused } from "../../api/client.ts";
import { Button } from "./button.tsx";

/** The error's message, and the path or line of each detail. */
export function ErrorText({ error }: { error: unknown }) {
  const details = error instanceof RequestRefused ? error.details : [];
  return (
    <>
      <p>{errorMessage(error)}</p>
      {details.length > 0 && (
        <ul>
          {details.map(({ path, message, line, column }) => (
            <li key={path + message}>
              <code>{line === undefined ? path : `${path} ${line}:${column ?? 1}`}</code>
              <span>{message}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Shows an error in place of what failed, with a button to retry. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => unknown }) {
  if (error === undefined || error === null) return null;
  return (
    <div class="error" role="alert">
      <ErrorText error={error} />
      {retry && (
        <div>
          <Button compact icon="turn" onClick={retry}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}

export function errorMessage(error: unknown): string {
  if (error instanceof RequestRefused) {
    const wait = error.retryAfter === undefined ? "" : ` (wait ${error.retryAfter} s)`;
    return error.message + wait;
  }
  // Browsers word the error of a `fetch` without an answer differently.
  if (error instanceof TypeError) return "Can't reach the server";
  return error instanceof Error ? error.message : String(error);
}

/** Message of the error's detail for one form field. */
export function fieldError(error: unknown, path: string): string | undefined {
  if (!(error instanceof RequestRefused)) return undefined;
  return error.details.find((detail) => detail.path === path)?.message;
}
