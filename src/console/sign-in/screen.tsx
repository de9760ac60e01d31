import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Logo } from "../components/logo.tsx";
import { signIn } from "../data/session.ts";

/** The token goes into a cookie that no script can read; the console keeps none of it. */
export function SignIn({ reason }: { reason: string | undefined }) {
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
          {reason && <p class="notice">{reason}</p>}
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
                The first start of the server printed one; <code>pixelmill token create</code> makes
                another.
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
