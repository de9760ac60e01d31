import type { ComponentChildren } from "preact";
import { commonTexts } from "./common.ts";

/** Texts of the frame around the screens: sidebar, palette, sign-in, unknown pages. */
export const shellTexts = {
  productName: "pixelmill",
  skipToContent: "Skip to content",
  notFound: "Not found",
  pageNotFound: "Page not found",
  pageNotFoundHint: "The address may be misspelt, or belong to an older version.",
  paletteLabel: "Search screens, actions and items by name",
  palettePlaceholder: "Search screens, sources, destinations, transformations…",
  notReady:
    "The server is not ready. Events wait or are refused, also those for healthy destinations.",
  closeMenu: "Close menu",
  openMenu: "Open menu",
  screens: "Screens",
  paletteShortcut: `${commonTexts.modKey} K`,
  shortcuts: "Keyboard shortcuts",
  /** Keyboard shortcuts in groups: the effect of each, and the keys to press together. */
  shortcutGroups: [
    {
      title: "All screens",
      keys: [
        ["Search screens and items", commonTexts.modKey, "K"],
        ["Go to the search field of the screen", "/"],
        ["Show this list", "?"],
        ["Close a dialog or menu", "Esc"],
      ],
    },
    {
      title: "Code editor",
      keys: [
        ["Run the test events", commonTexts.modKey, "Enter"],
        ["Save a draft", commonTexts.modKey, "S"],
        ["Go to a line", commonTexts.modKey, "Alt", "G"],
        ["Find and replace", commonTexts.modKey, "F"],
        ["Format JavaScript", "Shift", "Alt", "F"],
        ["Complete a name", "Ctrl", "Space"],
        ["Leave the editor", "Esc, then Tab"],
      ],
    },
  ] as { title: string; keys: [effect: string, ...keys: string[]][] }[],
  theme: "Theme",
  themes: { system: "System", light: "Light", dark: "Dark" },
  apiReference: "API reference",
  signOut: "Sign out",
  signIn: "Sign in",
  signInWith: (provider: string) => `Sign in with ${provider}`,
  orWithToken: "or with a token",
  signInFailures: {
    expired: "The sign-in took too long or began in another browser. Try again.",
    denied: "The provider refused the sign-in. Try again, or ask its administrator for access.",
    "no-role":
      "Your account has no role here. Ask an administrator to add you to a group with one.",
    "no-email":
      "The provider sends no email address for your account. Ask its administrator to add one.",
    failed:
      "The sign-in failed. Try again; if it fails again, an operator finds the reason in the server's log.",
    unreachable: "The provider does not answer. Try again, or sign in with a token.",
    busy: "The server accepts no sign-ins at the moment. Try again in a minute.",
  } as Record<string, string>,
  sessionEnded: "Your session has ended. Sign in again to continue.",
  tokenPlaceholder: "pm_…",
  tokenCommand: "pixelmill token create",
  whereTokensComeFrom: (command: ComponentChildren) => [
    "Printed on first start; ",
    command,
    " creates another.",
  ],
};
