import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { ConfirmationHost, ToastList } from "./components/dialog.tsx";
import { ErrorNotice } from "./components/error-notice.tsx";
import { EmptyState, PermissionRequired, ScreenHeader } from "./components/layout.tsx";
import { loadPart } from "./data/load-part.ts";
import { isExpired, missingOneOf, restoreSession, session } from "./data/session.ts";
import { useResource } from "./data/use-resource.ts";
import { currentRoute, type ScreenProps } from "./router.ts";
import { screens } from "./screens.ts";
import { listenForShortcuts, Palette, ShortcutList } from "./shell/keyboard.tsx";
import { ServerTrouble } from "./shell/server-trouble.tsx";
import { isSidebarOpen, Sidebar, TopBar } from "./shell/sidebar.tsx";
import { SignIn, SignInAgain } from "./sign-in/screen.tsx";
import { commonTexts } from "./texts/common.ts";
import { shellTexts } from "./texts/shell.ts";

/**
 * The root component of the console. It shows the sidebar and the current screen, or the sign-in
 * screen if no user is signed in. After the session has expired, a sign-in form covers the current
 * screen.
 */
export function App() {
  const { error } = useResource(restoreSession, []);
  useEffect(() => listenForShortcuts(), []);
  if (error !== undefined) {
    return (
      <main>
        <h1>{shellTexts.productName}</h1>
        <ErrorNotice error={error} retry={() => location.reload()} />
      </main>
    );
  }
  if (session.value === undefined) return null;
  return (
    <>
      {session.value === null ? <SignIn /> : <Frame />}
      {isExpired.value && <SignInAgain />}
      <ToastList />
    </>
  );
}

function Frame() {
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        {shellTexts.skipToContent}
      </button>
      <TopBar />
      <Sidebar />
      <ScreenOutlet />
      <Palette />
      <ShortcutList />
      <ConfirmationHost />
    </div>
  );
}

type ScreenComponent = ComponentType<ScreenProps>;
/** Screen components that are already loaded, by screen name. */
const loadedScreens = signal<ReadonlyMap<string, ScreenComponent>>(new Map());

/** Loads the component of the current route's screen and shows it. */
function ScreenOutlet() {
  const { segments, query } = currentRoute.value;
  const [name = "", ...subpath] = segments;
  const screen = screens.find((it) => it.name === name);
  const { error } = useResource(async () => {
    if (screen === undefined || loadedScreens.value.has(name)) return;
    const { Screen } = await loadPart(screen.load);
    loadedScreens.value = new Map(loadedScreens.value).set(name, Screen);
  }, [name]);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);

  useLayoutEffect(() => {
    isSidebarOpen.value = false;
    // Screen readers then announce the new screen. The first screen needs no focus, because
    // reading starts there.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [name]);
  useEffect(() => scrollTo(0, 0), [segments.join("/")]);

  const Screen = loadedScreens.value.get(name);
  const permission = missingOneOf(screen?.needs);
  return (
    <main id="main" ref={main} tabIndex={-1}>
      <ServerTrouble />
      {!screen && (
        <>
          <ScreenHeader title={shellTexts.notFound} />
          <EmptyState
            icon="search"
            title={shellTexts.pageNotFound}
            text={shellTexts.pageNotFoundHint}
            action={<a href="#/">{commonTexts.overview}</a>}
          />
        </>
      )}
      {error !== undefined && !Screen && (
        <ErrorNotice error={error} retry={() => location.reload()} />
      )}
      {permission !== undefined && screen && (
        <>
          <ScreenHeader title={screen.title} />
          <PermissionRequired permission={permission} />
        </>
      )}
      {Screen && permission === undefined && <Screen key={name} subpath={subpath} query={query} />}
    </main>
  );
}
