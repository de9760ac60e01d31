import { RequestRefused } from "../../api/client.ts";
import { Button } from "./button.tsx";

/** Shows an error's message, and each of its details with a path or line. */
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

/** Shows an error in place of content that could not be loaded, with a button to retry. */
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
  // `fetch` throws a TypeError when there is no answer. Each browser words it differently.
  if (error instanceof TypeError) return "Can't reach the server";
  return error instanceof Error ? error.message : String(error);
}

/** Returns the error's message for the form field at `path`, or undefined when there is none. */
export function fieldError(error: unknown, path: string): string | undefined {
  if (!(error instanceof RequestRefused)) return undefined;
  return error.details.find((detail) => detail.path === path)?.message;
}
