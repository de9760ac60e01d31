import { commonTexts } from "../texts/common.ts";
import { Button } from "./button.tsx";
import { ErrorText } from "./error-notice.tsx";
import { Icon } from "./icon.tsx";
import { dismissToast, toasts } from "./toasts.ts";

export function ToastList() {
  return (
    <section class="toasts" aria-live="polite" aria-label={commonTexts.messages}>
      {toasts.value.map((toast) => (
        <div class="toast" key={toast}>
          <span class={toast.error === undefined ? "good" : "bad"}>
            <Icon name={toast.error === undefined ? "check" : "alert"} />
          </span>
          <div>{toast.error === undefined ? toast.text : <ErrorText error={toast.error} />}</div>
          <Button
            kind="plain"
            compact
            icon="close"
            label={commonTexts.dismiss}
            onClick={() => dismissToast(toast)}
          />
        </div>
      ))}
    </section>
  );
}
