import type { ComponentType } from "preact";
import type { IconName } from "./components/icon.tsx";
import type { Permission } from "./data/model.ts";
import type { ScreenProps } from "./router.ts";

interface Screen {
  /** First segment of the screen's route. Empty for the overview. */
  name: string;
  title: string;
  icon: IconName;
  /** Permission that the screen requires. */
  needs?: Permission;
  /** Loads the screen's code. Called when the screen is first opened. */
  load(): Promise<{ Screen: ComponentType<ScreenProps> }>;
}

/** All screens of the console, in the order of the sidebar. */
export const screens: readonly Screen[] = [
  {
    name: "",
    title: "Overview",
    icon: "overview",
    load: () => import("./overview/screen.tsx"),
  },
  {
    name: "sources",
    title: "Sources",
    icon: "source",
    needs: "workspace:admin",
    load: () => import("./sources/screen.tsx"),
  },
  {
    name: "destinations",
    title: "Destinations",
    icon: "destination",
    needs: "workspace:admin",
    load: () => import("./destinations/screen.tsx"),
  },
  {
    name: "transformations",
    title: "Transformations",
    icon: "code",
    load: async () => ({ Screen: (await import("./code/screens.tsx")).TransformationScreen }),
  },
  {
    name: "libraries",
    title: "Libraries",
    icon: "library",
    load: async () => ({ Screen: (await import("./code/screens.tsx")).LibraryScreen }),
  },
  {
    name: "events",
    title: "Live tail",
    icon: "tail",
    needs: "events:read",
    load: () => import("./tail/screen.tsx"),
  },
  {
    name: "search",
    title: "Event search",
    icon: "search",
    needs: "events:read",
    load: () => import("./search/screen.tsx"),
  },
  {
    name: "dead-letters",
    title: "Dead letters",
    icon: "letter",
    needs: "events:read",
    load: () => import("./dead-letters/screen.tsx"),
  },
  {
    name: "replays",
    title: "Replays",
    icon: "turn",
    needs: "events:read",
    load: () => import("./replays/screen.tsx"),
  },
  {
    name: "settings",
    title: "Settings",
    icon: "settings",
    load: () => import("./settings/screen.tsx"),
  },
  {
    name: "system",
    title: "System",
    icon: "system",
    needs: "workspace:admin",
    load: () => import("./system/screen.tsx"),
  },
];
