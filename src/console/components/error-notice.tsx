import { RequestRefused } from "../../api/client.ts";
import { Button } from "./button.tsx";

/** What went wrong, in the server's words, with the place of each detail. */
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

/** An error where the thing that failed would be, with a way to try again. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => unknown }) {
  if (error === undefined || error === null) return null;
  return (
    <div class="fault" role="alert">
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
  // What `fetch` says when there is no answer differs from browser to browser.
  if (error instanceof TypeError) return "The server does not answer";
  return error instanceof Error ? error.message : String(error);
}

/** What is wrong with one field of a form: details by the end of their path. */
export function fieldError(error: unknown, path: string): string | undefined {
  if (!(error instanceof RequestRefused)) return undefined;
  return error.details.find((detail) => detail.path === path)?.message;
}
