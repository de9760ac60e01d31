import type { AlertReceiver, NotificationResult } from "../../catalog/alerts/model.ts";
import type { Egress } from "../../egress/egress.ts";
import { type MailServer, sendByEmail } from "./email.ts";
import { sendByHttp } from "./http.ts";
import type { AlertMessage } from "./message.ts";

interface SenderParts {
  /**
   * Opens connections to receivers. Because users enter the addresses, it reaches private addresses
   * only if `egress.allow` lists them.
   */
  egress: Egress;
  /**
   * Opens connections to the mail server. Allows every address, also private addresses, because the
   * operator sets the address of the mail server.
   */
  mailEgress: Egress;
  /** Returns the mail server that the operator has set; undefined when there is none. */
  mailServer(): MailServer | undefined;
}

export type SendNotification = (
  receiver: AlertReceiver,
  message: AlertMessage,
  signal: AbortSignal,
) => Promise<NotificationResult>;

export const NO_MAIL_SERVER =
  "Expected a mail server in the setting smtp.server for receivers of the type email, got none";

/**
 * Returns a function that makes one attempt to send a notification. The function never rejects: its
 * result reports a failure.
 */
export function createSender({ egress, mailEgress, mailServer }: SenderParts): SendNotification {
  return async (receiver, message, signal) => {
    if (receiver.type !== "email") return await sendByHttp(egress, receiver, message, signal);
    const server = mailServer();
    if (server === undefined) return { kind: "retry", reason: NO_MAIL_SERVER };
    return await sendByEmail(mailEgress, server, receiver, message, signal);
  };
}
