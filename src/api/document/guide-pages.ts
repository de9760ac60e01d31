/**
 * Pages of the guide in the order of its navigation, by URL path below `/docs/guide`. Each function
 * loads a page's Markdown from the executable.
 */
export const guidePages: ReadonlyMap<string, () => Promise<{ default: string }>> = new Map(
  Object.entries({
    "": () => import("../../../docs/README.md", { with: { type: "text" } }),
    tutorial: () => import("../../../docs/tutorial.md", { with: { type: "text" } }),
    console: () => import("../../../docs/console.md", { with: { type: "text" } }),
    "command-line": () => import("../../../docs/command-line.md", { with: { type: "text" } }),
    api: () => import("../../../docs/api.md", { with: { type: "text" } }),
    access: () => import("../../../docs/access.md", { with: { type: "text" } }),
    pixels: () => import("../../../docs/pixels.md", { with: { type: "text" } }),
    sdks: () => import("../../../docs/sdks.md", { with: { type: "text" } }),
    "user-code": () => import("../../../docs/user-code.md", { with: { type: "text" } }),
    "destinations/delivery": () =>
      import("../../../docs/destinations/delivery.md", { with: { type: "text" } }),
    "destinations/webhook": () =>
      import("../../../docs/destinations/webhook.md", { with: { type: "text" } }),
    "destinations/s3": () => import("../../../docs/destinations/s3.md", { with: { type: "text" } }),
    "destinations/postgres": () =>
      import("../../../docs/destinations/postgres.md", { with: { type: "text" } }),
    "destinations/clickhouse": () =>
      import("../../../docs/destinations/clickhouse.md", { with: { type: "text" } }),
    "destinations/tables": () =>
      import("../../../docs/destinations/tables.md", { with: { type: "text" } }),
    "destinations/kafka": () =>
      import("../../../docs/destinations/kafka.md", { with: { type: "text" } }),
    "destinations/file": () =>
      import("../../../docs/destinations/file.md", { with: { type: "text" } }),
    replays: () => import("../../../docs/replays.md", { with: { type: "text" } }),
    alerts: () => import("../../../docs/alerts.md", { with: { type: "text" } }),
    packages: () => import("../../../docs/packages.md", { with: { type: "text" } }),
    operating: () => import("../../../docs/operating.md", { with: { type: "text" } }),
    tls: () => import("../../../docs/tls.md", { with: { type: "text" } }),
    monitoring: () => import("../../../docs/monitoring.md", { with: { type: "text" } }),
    cluster: () => import("../../../docs/cluster.md", { with: { type: "text" } }),
    "control-plane": () => import("../../../docs/control-plane.md", { with: { type: "text" } }),
    "rudder-server-code": () =>
      import("../../../docs/rudder-server-code.md", { with: { type: "text" } }),
    rudderstack: () => import("../../../docs/rudderstack.md", { with: { type: "text" } }),
    "reference/functions": () =>
      import("../../../docs/reference/functions.md", { with: { type: "text" } }),
    "reference/settings": () =>
      import("../../../docs/reference/settings.md", { with: { type: "text" } }),
    "reference/limits": () =>
      import("../../../docs/reference/limits.md", { with: { type: "text" } }),
    "reference/metrics": () =>
      import("../../../docs/reference/metrics.md", { with: { type: "text" } }),
    "reference/errors": () =>
      import("../../../docs/reference/errors.md", { with: { type: "text" } }),
  }),
);
