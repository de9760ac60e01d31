import { createEgress } from "../egress/egress.ts";
import { guestFetch } from "../egress/guest-fetch.ts";
import { readDescriptorLimits } from "../http/descriptor-limits.ts";
import { createSandbox, type GuestSandbox } from "../sandbox/guest-sandbox.ts";
import type { Geolocation } from "../sandbox/host-calls/geolocation.ts";
import { selfCommand } from "../self-command.ts";
import type { StartContext } from "./backend.ts";

/** Creates the sandbox for user code, as the settings describe it. */
export function openSandbox(
  { config, logger, metrics, stack }: StartContext,
  geolocation: Geolocation | undefined,
): GuestSandbox {
  const egress = createEgress({
    allow: config["sandbox.fetch.allow"],
    allowSetting: "sandbox.fetch.allow",
    nameServers: config["egress.resolver"],
    descriptorsMax: readDescriptorLimits().max,
  });
  stack.defer(() => egress.close());
  const memory = config["sandbox.memory"];
  const sandbox = createSandbox({
    guestCommand: [...selfCommand, "guest"],
    insecure: config["sandbox.insecure"],
    ...(memory > 0 && { limits: { memoryBytes: memory * 2 ** 20 } }),
    fetch: guestFetch(egress),
    geolocation,
    log: logger,
    metrics,
  });
  stack.defer(() => sandbox.close());
  return sandbox;
}
