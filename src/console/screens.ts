import type { ComponentType } from "preact";
import type { IconName } from "./components/icon.tsx";
import type { Permission } from "./data/model.ts";
import type { ScreenProps } from "./router.ts";
import { commonTexts } from "./texts/common.ts";

/**
 * Functions that load the code of a screen, by the screen's name. A function is called when its
 * screen is first opened.
 */
const loads = {
  "": () => import("./overview/screen.tsx"),
  sources: () => import("./sources/screen.tsx"),
  destinations: () => import("./destinations/screen.tsx"),
  transformations: async () => ({ Screen: (await codeScreens()).TransformationScreen }),
  libraries: async () => ({ Screen: (await codeScreens()).LibraryScreen }),
  events: () => import("./tail/screen.tsx"),
  search: () => import("./search/screen.tsx"),
  "dead-letters": () => import("./dead-letters/screen.tsx"),
  replays: () => import("./replays/screen.tsx"),
  alerts: () => import("./alerts/screen.tsx"),
  audit: () => import("./audit/screen.tsx"),
  settings: () => import("./settings/screen.tsx"),
  system: () => import("./system/screen.tsx"),
} satisfies Record<string, () => Promise<{ Screen: ComponentType<ScreenProps> }>>;

const codeScreens = () => import("./code/screens.tsx");

interface ScreenEntry {
  /** First segment of the screen's route. Empty for the overview. */
  name: keyof typeof loads;
  title: string;
  icon: IconName;
  /**
   * Permissions of which the session needs at least one to open the screen. Absent if it needs
   * none.
   */
  needs?: readonly Permission[];
}

/** Permissions to see sources and destinations. A session needs only one of them. */
const readers: readonly Permission[] = ["events:read", "workspace:admin"];

const entries: readonly ScreenEntry[] = [
  { name: "", title: commonTexts.overview, icon: "overview" },
  { name: "sources", title: commonTexts.sources, icon: "source", needs: readers },
  { name: "destinations", title: commonTexts.destinations, icon: "destination", needs: readers },
  { name: "transformations", title: commonTexts.transformations, icon: "code" },
  { name: "libraries", title: commonTexts.libraries, icon: "library" },
  { name: "events", title: commonTexts.liveTail, icon: "tail", needs: ["events:read"] },
  { name: "search", title: commonTexts.eventSearch, icon: "search", needs: ["events:read"] },
  { name: "dead-letters", title: commonTexts.deadLetters, icon: "letter", needs: ["events:read"] },
  { name: "replays", title: commonTexts.replays, icon: "turn", needs: ["events:read"] },
  { name: "alerts", title: commonTexts.alerts, icon: "alert", needs: ["events:read"] },
  { name: "audit", title: commonTexts.auditLog, icon: "clock", needs: ["audit:read"] },
  { name: "settings", title: commonTexts.settings, icon: "settings" },
  { name: "system", title: commonTexts.system, icon: "system", needs: ["workspace:admin"] },
];

/** All screens of the console, in the order of the sidebar. */
export const screens = entries.map((entry) => ({ ...entry, load: loads[entry.name] }));
