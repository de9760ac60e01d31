import { effect, signal } from "@preact/signals";

/** Themes of the console. `system` follows the light or dark mode of the operating system. */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const KEY = "pixelmill.theme";

/** The theme that the user chose in this browser. `chooseTheme` changes it. */
export const theme = signal<Theme>(readTheme());

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});
// Another tab chose a theme.
addEventListener("storage", () => {
  theme.value = readTheme();
});

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return themes.find((name) => name === kept) ?? "system";
  } catch {
    return "system";
  }
}

/** Sets the theme, and keeps it in the browser for later visits. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    if (chosen === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Local storage is disabled. The theme lasts until the tab is closed or reloaded.
  }
}
