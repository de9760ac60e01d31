import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { useModal } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Logo } from "../components/icon.tsx";
import { client, isExpired, rememberScreen, signIn } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { commonTexts } from "../texts/common.ts";
import { shellTexts } from "../texts/shell.ts";

/**
 * Returns the reason why the last sign-in at the identity provider failed, or undefined. Removes
 * the reason's code from the page's address, so that a reload does not show the reason again.
 */
function takeFailure(): string | undefined {
  const failure = new URLSearchParams(location.search).get("sign-in");
  if (failure === null) return undefined;
  history.replaceState(null, "", location.pathname + location.hash);
  return shellTexts.signInFailures[failure];
}

/** Sign-in screen. It is shown when no user is signed in. */
export function SignIn() {
  return (
    <main class="sign-in" id="main">
      <SignInForm />
    </main>
  );
}

/** Sign-in form that covers the screen of an expired session. The screen keeps its state. */
export function SignInAgain() {
  const dialog = useModal();
  return (
    <dialog
      ref={dialog}
      class="sign-in"
      aria-label={shellTexts.signIn}
      onCancel={(event) => event.preventDefault()}
      // Browsers let a second press of Escape close any dialog.
      onClose={() => dialog.current?.showModal()}
    >
      <SignInForm />
    </dialog>
  );
}

/**
 * Form in which the user enters an API token. The server exchanges it for a session cookie that
 * scripts cannot read; the console does not store the token.
 */
function SignInForm() {
  const [token, setToken] = useState("");
  const { submit, busy, error } = useSubmit(() => signIn(token.trim()));
  // If this request fails, the form still accepts a token, and a submit shows its own error.
  const { value: provider } = useResource(
    async () => (await client.call("GET /v2/sign-in")).signIn.provider,
    [],
  );
  const [failure] = useState(takeFailure);
  return (
    <form class="panel" onSubmit={submit}>
      <div class="inside">
        <div class="brand">
          <Logo />
          {shellTexts.productName}
        </div>
        <h1>{shellTexts.signIn}</h1>
        {isExpired.value && <p class="notice">{shellTexts.sessionEnded}</p>}
        {failure !== undefined && (
          <p class="notice bad" role="alert">
            {failure}
          </p>
        )}
        {provider && (
          <>
            <a
              class="button main"
              href={provider.path}
              // After the session has expired, another tab opens: this one keeps what was typed.
              target={isExpired.value ? "_blank" : undefined}
              onClick={rememberScreen}
            >
              {shellTexts.signInWith(provider.name)}
            </a>
            <p class="quiet small">{shellTexts.orWithToken}</p>
          </>
        )}
        <TextField
          label={commonTexts.token}
          type="password"
          value={token}
          onInput={setToken}
          required
          autoFocus={!provider}
          code
          autoComplete="current-password"
          placeholder={shellTexts.tokenPlaceholder}
          hint={shellTexts.whereTokensComeFrom(<code>{shellTexts.tokenCommand}</code>)}
        />
        <ErrorNotice error={error} />
        <Button kind={provider ? "plain" : "main"} type="submit" busy={busy}>
          {shellTexts.signIn}
        </Button>
      </div>
    </form>
  );
}
