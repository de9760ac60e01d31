import type { ComponentType } from "preact";
import type { IconName } from "./components/icon.tsx";
import type { Permission } from "./data/session.ts";
import type { ScreenProps } from "./router.ts";

interface Screen {
  /** The first segment of its places; the overview's is empty. */
  name: string;
  title: string;
  icon: IconName;
  /** What reading it takes. */
  needs?: Permission;
  /** Loaded when it is first opened. */
  load(): Promise<{ default?: never; Screen: ComponentType<ScreenProps> }>;
}

/** In the order of the bar. */
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
    load: () => import("./transformations/screen.tsx"),
  },
  {
    name: "libraries",
    title: "Libraries",
    icon: "library",
    load: () => import("./libraries/screen.tsx"),
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
    load: () => import("./system/screen.tsx"),
  },
];
