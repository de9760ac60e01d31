import { signal } from "@preact/signals";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { Logo } from "../components/logo.tsx";
import { session, signOut } from "../data/session.ts";
import { currentRoute, hrefTo } from "../router.ts";
import { screens } from "../screens.ts";
import { openPalette } from "./palette.tsx";

/** Whether the sidebar is open on a narrow screen. The button in the top bar toggles it. */
export const isSidebarOpen = signal(false);

function Brand() {
  return (
    <a class="brand" href="#/">
      <Logo />
      <span class="cut">{session.value?.workspace.name}</span>
    </a>
  );
}

export function TopBar() {
  const open = isSidebarOpen.value;
  return (
    <header class="top">
      <Button
        kind="plain"
        icon={open ? "close" : "menu"}
        label={open ? "Close menu" : "Open menu"}
        onClick={() => {
          isSidebarOpen.value = !open;
        }}
      />
      <Brand />
      <Button kind="plain" icon="search" label="Search" onClick={openPalette} />
    </header>
  );
}

export function Sidebar() {
  const [current = ""] = currentRoute.value.segments;
  return (
    <nav class={isSidebarOpen.value ? "sidebar open" : "sidebar"} aria-label="Screens">
      <Brand />
      <button type="button" class="search-button" onClick={openPalette}>
        <Icon name="search" />
        Search
        <kbd>{isApple ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <ul>
        {screens.map(({ name, title, icon }) => (
          <li key={name}>
            <a href={hrefTo(name)} aria-current={name === current ? "page" : undefined}>
              <Icon name={icon} />
              {title}
            </a>
          </li>
        ))}
      </ul>
      <SidebarFooter />
    </nav>
  );
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

function SidebarFooter() {
  const userName = session.value?.member?.name ?? session.value?.token.name ?? "";
  return (
    <div class="foot">
      <a class="small" href="/docs" target="_blank" rel="noreferrer">
        API reference
      </a>
      <div class="row far">
        <span class="cut small" title={userName}>
          {userName}
        </span>
        <Button kind="plain" compact icon="out" label="Sign out" onClick={signOut} />
      </div>
    </div>
  );
}
