import { Type } from "@sinclair/typebox";
import * as limits from "../../../settings/limits.ts";
import { component, text } from "../../../settings/schema-types.ts";
import * as apiLimits from "../../limits.ts";
import { jsonResponse, responseHeaders } from "../../response/errors.ts";
import { route } from "../../route.ts";
import { isoTime } from "../../schema/common.ts";
import { clusterStatus } from "./cluster-status.ts";

const Readiness = component("Readiness", {
  ready: Type.Boolean(),
  checks: Type.Record(
    Type.String(),
    Type.Object({ ok: Type.Boolean(), message: Type.Optional(Type.String()) }),
  ),
  warnings: Type.Array(Type.String()),
});

const limitsOfAll: Record<string, number> = { ...limits, ...apiLimits };

const bytes = (description?: string) =>
  Type.Number({ ...(description !== undefined && { description }) });

const System = Type.Object(
  {
    version: Type.String(),
    bun: Type.String(),
    uptimeSeconds: Type.Integer(),
    processes: Type.Array(
      Type.Object({ name: Type.String(), residentBytes: bytes(), cpuSeconds: Type.Number() }),
    ),
    guests: Type.Object({
      alive: Type.Optional(Type.Integer()),
      awaited: Type.Optional(Type.Integer({ description: "Workspaces that wait for one" })),
      suspended: Type.Integer({ description: "Programs of the workspace that only fail" }),
    }),
    memory: Type.Object({
      totalBytes: bytes("Of the machine, or of a control group with less"),
      freeBytes: bytes(),
    }),
    disk: Type.Object({
      used: Type.Record(Type.String(), Type.Number(), {
        description: "Bytes by part of the data directory",
      }),
      freeBytes: bytes(),
    }),
    events: Type.Object(
      {
        bytes: Type.Optional(bytes("Of all event logs")),
        oldestAt: Type.Optional(text("When the oldest event came that is still there")),
        retention: Type.Object(
          { seconds: Type.Number(), bytes: Type.Number() },
          { description: "Bounds up to which delivered events are kept; 0 is no bound" },
        ),
      },
      { description: "What destinations are owed, and what is kept beyond that" },
    ),
    readiness: Readiness,
    limits: Type.Record(Type.String(), Type.Number(), {
      description: "Every limit, its unit in its name",
    }),
  },
  {
    $id: "System",
    description:
      "Figures of the whole server; with several workspaces, those that tell of the others' events " +
      "and code are absent",
  },
);

const Cluster = Type.Object(
  {
    name: Type.Optional(text("Absent where the server is alone")),
    node: Type.Optional(text("Id of the node that answers")),
    nodes: Type.Array(
      Type.Object({
        id: Type.String(),
        version: Type.String(),
        controlPlaneUrl: Type.String(),
        partitions: Type.Array(Type.Integer(), { description: "What the node is to run" }),
        answers: Type.Boolean({ description: "Within two seconds" }),
        problems: Type.Array(Type.String(), {
          description: "What fails at the node, and what should not stay so",
        }),
      }),
    ),
    partitions: Type.Array(
      Type.Object({
        partition: Type.Integer(),
        node: Type.Optional(text("Id of the node that runs it, or ran it last")),
        stopped: Type.Optional(text("Why the node that it is assigned to does not run it")),
        lagEvents: Type.Optional(
          Type.Integer({
            description:
              "Events that some destination has not settled; absent while the brokers do not tell",
          }),
        ),
      }),
    ),
    problems: Type.Array(Type.String(), { description: "What needs a person, of all nodes" }),
  },
  { $id: "Cluster", description: "Nodes that share the work; none where the server is alone" },
);

export const systemRoutes = [
  route("GET /v2/cluster", {
    summary: "Tell the nodes of the cluster, which of them runs which partition, and what is wrong",
    needs: ["workspace:admin"],
    answer: Cluster,
    example: {
      answer: {
        name: "pixelmill",
        node: "a-1b2c3d4e",
        nodes: [
          {
            id: "a-1b2c3d4e",
            version: "0.1.0",
            partitions: [0, 1],
            controlPlaneUrl: "http://10.0.0.7:8081",
            answers: true,
            problems: ["Broker 10.0.0.3:9092 does not answer"],
          },
        ],
        partitions: [
          { partition: 0, node: "a-1b2c3d4e", lagEvents: 0 },
          { partition: 1, node: "a-1b2c3d4e", lagEvents: 12 },
        ],
        problems: ["Broker 10.0.0.3:9092 does not answer"],
      },
    },
    handle: ({ deps }) => clusterStatus(deps),
  }),

  route("GET /v2/system", {
    summary: "Tell how the server does: processes, guests, memory, disk, versions, limits",
    needs: ["workspace:admin"],
    answer: System,
    example: {
      answer: {
        version: "0.1.0",
        bun: "1.4.4",
        uptimeSeconds: 86_400,
        processes: [{ name: "server", residentBytes: 230_000_000, cpuSeconds: 411.5 }],
        guests: { alive: 3, awaited: 0, suspended: 0 },
        memory: { totalBytes: 8_000_000_000, freeBytes: 5_000_000_000 },
        disk: { used: { events: 67_108_864 }, freeBytes: 90_000_000_000 },
        events: {
          bytes: 67_108_864,
          oldestAt: "2026-02-09T01:11:11.586Z",
          retention: { seconds: 604_800, bytes: 0 },
        },
        readiness: { ready: true, checks: { log: { ok: true } }, warnings: [] },
        limits: { PIXEL_TARGET_BYTES_MAX: 32_768 },
      },
    },
    async handle({ deps, workspaceId }) {
      const { events, guests, disk, ...figures } = await deps.system();
      const { oldestAt, bytes, retention } = events;
      const { alive, awaited } = guests;
      const isAlone = deps.catalog.workspaces.list(2).length === 1;
      const oldest = oldestAt !== undefined && { oldestAt: isoTime(oldestAt) };
      return {
        ...figures,
        guests: {
          ...(isAlone && { alive, awaited }),
          suspended: deps.suspensions(workspaceId).length,
        },
        disk: isAlone ? disk : { ...disk, used: {} },
        events: isAlone ? { bytes, ...oldest, retention } : { retention },
        readiness: deps.ready(),
        limits: limitsOfAll,
      };
    },
  }),

  route("GET /health", {
    summary: "Tell that the process answers",
    needs: "open",
    answer: Type.Object({ status: Type.Literal("ok"), version: Type.String() }),
    example: { answer: { status: "ok", version: "0.1.0" } },
    handle: ({ deps }) => ({ status: "ok" as const, version: deps.version }),
  }),

  route("GET /ready", {
    summary: "Tell whether events can be taken and delivered; 503 when not",
    needs: "open",
    answer: Readiness,
    example: { answer: { ready: true, checks: { log: { ok: true } }, warnings: [] } },
    handle({ deps }) {
      const readiness = deps.ready();
      if (readiness.ready) return readiness;
      const failing = Object.entries(readiness.checks).filter(([, { ok }]) => !ok);
      const message = `Not ready: ${failing.map(([name]) => name).join(", ")}`;
      return jsonResponse({ message, ...readiness }, 503);
    },
  }),

  route("GET /metrics", {
    summary: "Metrics in Prometheus' text format",
    needs: "open",
    answer: Type.String(),
    media: "text/plain",
    example: { answer: "# TYPE process_cpu_seconds_total counter\n" },
    async handle({ deps }) {
      const headers = { ...responseHeaders, "Content-Type": deps.metrics.contentType };
      return new Response(await deps.metricsText(), { headers });
    },
  }),
] as const;
