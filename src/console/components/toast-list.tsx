import { commonTexts } from "../texts/common.ts";
import { Button } from "./button.tsx";
import { ErrorText } from "./error-notice.tsx";
import { Icon } from "./icon.tsx";
import { dismissToast, openDialogs, toasts } from "./toasts.ts";

/**
 * Shows the toasts, either in a dialog or, without `dialog`, in the page. If dialogs are open, only
 * the topmost one shows them.
 */
export function ToastList({ dialog }: { dialog?: object }) {
  const shown = openDialogs.value.at(-1) === dialog ? toasts.value : [];
  return (
    <section
      class="toasts"
      aria-live="polite"
      // A second landmark of the same name would lead nowhere.
      aria-label={dialog ? undefined : commonTexts.messages}
    >
      {shown.map((toast) => (
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
