import type { ComponentType } from "preact";
import type { IconName } from "./components/icon.tsx";
import type { Permission } from "./data/model.ts";
import type { ScreenProps } from "./router.ts";
import { commonTexts } from "./texts/common.ts";

interface Screen {
  /** First segment of the screen's route. Empty for the overview. */
  name: string;
  title: string;
  icon: IconName;
  /** Permissions of which the session must have at least one to open the screen. */
  needs?: readonly Permission[];
  /** Loads the screen's code when the screen is first opened. */
  load(): Promise<{ Screen: ComponentType<ScreenProps> }>;
}

/** All screens of the console, in the order of the sidebar. */
export const screens: readonly Screen[] = [
  {
    name: "",
    title: commonTexts.overview,
    icon: "overview",
    load: () => import("./overview/screen.tsx"),
  },
  {
    name: "sources",
    title: commonTexts.sources,
    icon: "source",
    needs: ["events:read", "workspace:admin"],
    load: () => import("./sources/screen.tsx"),
  },
  {
    name: "destinations",
    title: commonTexts.destinations,
    icon: "destination",
    needs: ["events:read", "workspace:admin"],
    load: () => import("./destinations/screen.tsx"),
  },
  {
    name: "transformations",
    title: commonTexts.transformations,
    icon: "code",
    load: async () => ({ Screen: (await import("./code/screens.tsx")).TransformationScreen }),
  },
  {
    name: "libraries",
    title: commonTexts.libraries,
    icon: "library",
    load: async () => ({ Screen: (await import("./code/screens.tsx")).LibraryScreen }),
  },
  {
    name: "events",
    title: commonTexts.liveTail,
    icon: "tail",
    needs: ["events:read"],
    load: () => import("./tail/screen.tsx"),
  },
  {
    name: "search",
    title: commonTexts.eventSearch,
    icon: "search",
    needs: ["events:read"],
    load: () => import("./search/screen.tsx"),
  },
  {
    name: "dead-letters",
    title: commonTexts.deadLetters,
    icon: "letter",
    needs: ["events:read"],
    load: () => import("./dead-letters/screen.tsx"),
  },
  {
    name: "replays",
    title: commonTexts.replays,
    icon: "turn",
    needs: ["events:read"],
    load: () => import("./replays/screen.tsx"),
  },
  {
    name: "alerts",
    title: commonTexts.alerts,
    icon: "alert",
    needs: ["events:read"],
    load: () => import("./alerts/screen.tsx"),
  },
  {
    name: "audit",
    title: commonTexts.auditLog,
    icon: "clock",
    needs: ["audit:read"],
    load: () => import("./audit/screen.tsx"),
  },
  {
    name: "settings",
    title: commonTexts.settings,
    icon: "settings",
    load: () => import("./settings/screen.tsx"),
  },
  {
    name: "system",
    title: commonTexts.system,
    icon: "system",
    needs: ["workspace:admin"],
    load: () => import("./system/screen.tsx"),
  },
];
