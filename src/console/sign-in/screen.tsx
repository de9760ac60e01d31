import { useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { Mark } from "../parts/mark.tsx";
import { signIn } from "../session.ts";

/** The token goes into a cookie that no script can read; the console keeps none of it. */
export function SignIn({ reason }: { reason: string | undefined }) {
  const [token, setToken] = useState("");
  const { submit, busy, error } = useSubmit(() => signIn(token.trim()));
  return (
    <main class="sign-in" id="main">
      <form class="panel" onSubmit={submit}>
        <div class="inside">
          <div class="brand">
            <Mark />
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
          <Fault error={error} />
          <Button kind="main" type="submit" busy={busy}>
            Sign in
          </Button>
        </div>
      </form>
    </main>
  );
}
