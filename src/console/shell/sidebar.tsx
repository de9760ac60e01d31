import { signal } from "@preact/signals";
import { Button } from "../components/button.tsx";
import { Icon, Logo } from "../components/icon.tsx";
import { requirementOf, SegmentedControl } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { missingOneOf, session, signOut } from "../data/session.ts";
import { chooseTheme, theme, themes } from "../data/theme.ts";
import { currentRoute, hrefTo } from "../router.ts";
import { screens } from "../screens.ts";
import { commonTexts } from "../texts/common.ts";
import { shellTexts } from "../texts/shell.ts";
import { openPalette, openShortcuts } from "./keyboard.tsx";

/** Whether the sidebar is open on a narrow screen, where a button opens and closes it. */
export const isSidebarOpen = signal(false);

function Brand() {
  return (
    <a class="brand" href="#/">
      <Logo />
      <span class="cut">
        <Name>{session.value?.workspace.name}</Name>
      </span>
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
        label={open ? shellTexts.closeMenu : shellTexts.openMenu}
        onClick={() => {
          isSidebarOpen.value = !open;
        }}
      />
      <Brand />
      <Button kind="plain" icon="search" label={commonTexts.search} onClick={openPalette} />
    </header>
  );
}

export function Sidebar() {
  const [current = ""] = currentRoute.value.segments;
  return (
    <nav class={isSidebarOpen.value ? "sidebar open" : "sidebar"} aria-label={shellTexts.screens}>
      <Brand />
      <button type="button" class="search-button" onClick={openPalette}>
        <Icon name="search" />
        {commonTexts.search}
        <kbd>{shellTexts.paletteShortcut}</kbd>
      </button>
      <ul>
        {screens.map(({ name, title, icon, needs }) => (
          <li key={name}>
            <a
              href={hrefTo(name)}
              aria-current={name === current ? "page" : undefined}
              {...requirementOf(missingOneOf(needs))}
            >
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

function SidebarFooter() {
  const userName = session.value?.member?.name ?? session.value?.token.name ?? "";
  return (
    <div class="foot">
      <SegmentedControl
        label={shellTexts.theme}
        value={theme.value}
        options={themes.map((value) => ({ value, text: shellTexts.themes[value] }))}
        onChange={chooseTheme}
      />
      <button type="button" class="link small" onClick={openShortcuts}>
        {shellTexts.shortcuts}
      </button>
      <a class="small" href="/docs" target="_blank" rel="noreferrer">
        {shellTexts.apiReference}
      </a>
      <div class="row far">
        <span class="cut small">
          <Name>{userName}</Name>
        </span>
        <Button kind="plain" compact icon="out" label={shellTexts.signOut} onClick={signOut} />
      </div>
    </div>
  );
}
