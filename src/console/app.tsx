import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Bar, isBarOpen, Top } from "./bar.tsx";
import { openPalette, Palette } from "./palette.tsx";
import { Confirmation } from "./parts/dialog.tsx";
import { Fault } from "./parts/fault.tsx";
import { Empty, Head } from "./parts/layout.tsx";
import { Toasts } from "./parts/toast.tsx";
import { place, type ScreenProps } from "./router.ts";
import { screens } from "./screens.ts";
import { ended, lacking, resume, session } from "./session.ts";
import { SignIn } from "./sign-in/screen.tsx";

/** The whole console: the sign-in, or the frame with the screen of the place. */
export function App() {
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    resume().catch(setError);
  }, []);
  useEffect(() => listenForKeys(), []);
  if (error !== undefined) return <Unreachable error={error} />;
  if (session.value === undefined) return null;
  return (
    <>
      {session.value === null ? <SignIn reason={ended.value} /> : <Frame />}
      <Toasts />
    </>
  );
}

function Unreachable({ error }: { error: unknown }) {
  return (
    <main>
      <h1>pixelmill</h1>
      <Fault error={error} retry={() => location.reload()} />
    </main>
  );
}

function Frame() {
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Top />
      <Bar />
      <Outlet />
      <Palette />
      <Confirmation />
    </div>
  );
}

type Loaded = ComponentType<ScreenProps>;
const opened = signal<ReadonlyMap<string, Loaded>>(new Map());

/** The screen of the place, once it is loaded. */
function Outlet() {
  const { segments, query } = place.value;
  const [name = "", ...rest] = segments;
  const screen = screens.find((it) => it.name === name);
  const [error, setError] = useState<unknown>();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);

  useEffect(() => {
    isBarOpen.value = false;
    setError(undefined);
    if (screen && !opened.value.has(name)) {
      screen.load().then((it) => {
        opened.value = new Map(opened.value).set(name, it.Screen);
      }, setError);
    }
    // A reader with a screen reader is told of the new screen; the first one is where they start.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [name]);
  useEffect(() => scrollTo(0, 0), [segments.join("/")]);

  const Screen = opened.value.get(name);
  const permission = lacking(screen?.needs);
  return (
    <main id="main" ref={main} tabIndex={-1}>
      {!screen && (
        <>
          <Head title="Not found" />
          <Empty icon="search" title="There is no such screen" action={<a href="#/">Overview</a>}>
            The address may be of an older version, or misspelt.
          </Empty>
        </>
      )}
      {error !== undefined && <Fault error={error} retry={() => location.reload()} />}
      {permission !== undefined && screen && (
        <>
          <Head title={screen.title} />
          <Empty icon="info" title={`This takes the permission ${permission}`}>
            The token that you signed in with lacks it. Somebody with workspace:admin can make one
            that has it.
          </Empty>
        </>
      )}
      {Screen && permission === undefined && <Screen key={name} rest={rest} query={query} />}
    </main>
  );
}

/** `Cmd/Ctrl+K` opens the palette, `/` goes to the search of the screen. */
function listenForKeys(): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (session.value === null) return;
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.key !== "/" || isTyping(event)) return;
    event.preventDefault();
    const search = document.querySelector<HTMLInputElement>("main input[type=search]");
    if (search) search.focus();
    else openPalette();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
