import { signal } from "@preact/signals";
import { openPalette } from "./palette.tsx";
import { Button } from "./parts/button.tsx";
import { Icon } from "./parts/icon.tsx";
import { Mark } from "./parts/mark.tsx";
import { place, to } from "./router.ts";
import { screens } from "./screens.ts";
import { session, signOut } from "./session.ts";

/** On a narrow screen the bar is opened by the button at the top. */
export const isBarOpen = signal(false);

function Brand() {
  return (
    <a class="brand" href="#/">
      <Mark />
      <span class="cut">{session.value?.workspace.name}</span>
    </a>
  );
}

export function Top() {
  const open = isBarOpen.value;
  return (
    <header class="top">
      <Button
        kind="plain"
        icon={open ? "close" : "menu"}
        label={open ? "Close the menu" : "Open the menu"}
        onClick={() => {
          isBarOpen.value = !open;
        }}
      />
      <Brand />
      <Button kind="plain" icon="search" label="Find" onClick={openPalette} />
    </header>
  );
}

export function Bar() {
  const [current = ""] = place.value.segments;
  return (
    <nav class={isBarOpen.value ? "bar open" : "bar"} aria-label="Screens">
      <Brand />
      <button type="button" class="find" onClick={openPalette}>
        <Icon name="search" />
        Find
        <kbd>{isApple ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <ul>
        {screens.map(({ name, title, icon }) => (
          <li key={name}>
            <a href={to(name)} aria-current={name === current ? "page" : undefined}>
              <Icon name={icon} />
              {title}
            </a>
          </li>
        ))}
      </ul>
      <Foot />
    </nav>
  );
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

function Foot() {
  const who = session.value?.member?.name ?? session.value?.token.name ?? "";
  return (
    <div class="foot">
      <a class="small" href="/docs" target="_blank" rel="noreferrer">
        API reference
      </a>
      <div class="row far">
        <span class="cut small" title={who}>
          {who}
        </span>
        <Button kind="plain" tight icon="out" label="Sign out" onClick={signOut} />
      </div>
    </div>
  );
}
