import { Button } from "./button.tsx";
import { ErrorText } from "./error-notice.tsx";
import { Icon } from "./icon.tsx";
import { dismissToast, toasts } from "./toasts.ts";

export function ToastList() {
  return (
    <section class="toasts" aria-live="polite" aria-label="Messages">
      {toasts.value.map(({ id, text, error }) => (
        <div class="toast" key={id}>
          <span class={error === undefined ? "good" : "bad"}>
            <Icon name={error === undefined ? "check" : "alert"} />
          </span>
          <div>{error === undefined ? text : <ErrorText error={error} />}</div>
          <Button
            kind="plain"
            compact
            icon="close"
            label="Dismiss"
            onClick={() => dismissToast(id)}
          />
        </div>
      ))}
    </section>
  );
}
