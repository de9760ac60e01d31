import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Logo } from "../components/logo.tsx";
import { isExpired, signIn } from "../data/session.ts";

/**
 * Sign-in form. It exchanges the token for a session cookie that scripts cannot read. The console
 * does not store the token.
 */
export function SignIn() {
  const [token, setToken] = useState("");
  const { submit, busy, error } = useSubmit(() => signIn(token.trim()));
  return (
    <main class="sign-in" id="main">
      <form class="panel" onSubmit={submit}>
        <div class="inside">
          <div class="brand">
            <Logo />
            pixelmill
          </div>
          <h1>Sign in</h1>
          {isExpired.value && (
            <p class="notice">Your session has ended. Sign in again to continue.</p>
          )}
          <TextField
            label="Token"
            type="password"
            value={token}
            onInput={setToken}
            required
            autoFocus
            code
            autoComplete="current-password"
            placeholder="pm_…"
            hint={
              <>
                Printed on first start; <code>pixelmill token create</code> creates another.
              </>
            }
          />
          <ErrorNotice error={error} />
          <Button kind="main" type="submit" busy={busy}>
            Sign in
          </Button>
        </div>
      </form>
    </main>
  );
}
