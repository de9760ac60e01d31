import { type Alerting, createAlerting } from "../alerts/alerting.ts";
import { createSender } from "../alerts/receivers/send.ts";
import { createEgress } from "../egress/egress.ts";
import { readDescriptorLimits } from "../http/descriptor-limits.ts";
import type { Backend, StartContext } from "./backend.ts";
import { mailServerOf } from "./mail-server.ts";

/** Ranges of all addresses: the operator's mail server may be anywhere. */
const EVERYWHERE = ["0.0.0.0/0", "::/0"];

/**
 * Opens the part of the server that evaluates alert rules and sends notifications. Throws
 * `StartError` when the settings of the mail server contradict each other.
 */
export function openAlerts(
  { config, settings, logger, metrics, stack }: StartContext,
  { catalog, others }: Pick<Backend, "catalog" | "others">,
  consoleUrl: () => string,
): Alerting {
  let mailServer = mailServerOf(config);
  settings.add({
    keys: ["smtp.server", "smtp.tls", "smtp.ca", "smtp.user", "smtp.password", "smtp.from"],
    prepare(next) {
      const server = mailServerOf(next);
      return () => {
        mailServer = server;
      };
    },
  });
  const open = (allow: readonly string[]) => {
    const nameServers = config["egress.resolver"];
    const egress = createEgress({ allow, nameServers, descriptorsMax: readDescriptorLimits().max });
    stack.defer(() => egress.close());
    return egress;
  };
  const alerts = createAlerting({
    catalog,
    send: createSender({
      egress: open(config["egress.allow"]),
      mailEgress: open(EVERYWHERE),
      mailServer: () => mailServer,
    }),
    consoleUrl,
    isShared: others !== undefined,
    hasMailServer: () => mailServer !== undefined,
    logger,
    metrics,
  });
  stack.defer(() => alerts.close());
  return alerts;
}
